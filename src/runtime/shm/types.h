// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Work requests as the direct path takes them; their vocabulary is that of every transport.

#include <cstdint>

#include "core/hca/vocabulary.h"
#include "runtime/shm/arena.h"

namespace softib::live {

using hca::AddressVector;
using hca::AsyncKind;
using hca::SendFlags;
using hca::WcFlags;
using hca::WcOpcode;
using hca::WcStatus;
using hca::WrOpcode;
using enum hca::SendFlags;
using enum hca::WcFlags;
using hca::kInlineBytesMax;
using hca::kMessageBytesMax;

struct AddressHandle {
    AddressVector to;
    // Path as last walked; guarded by the sender's stripe lock is not enough (handles are shared
    // between queue pairs), hence one word: generation << 32 | P_Key << 16 | HCA + 1, which is 0
    // where packets of this partition do not arrive.
    std::atomic<std::uint64_t> path{0};
};

struct BindInfo {
    std::uint32_t mr_index;
    std::uint32_t mw_index;
    std::uint32_t new_rkey;
    std::uint32_t access;
    std::uint64_t address;
    std::uint64_t length;
};

struct WorkRequest {
    std::uint64_t wr_id;
    WrOpcode opcode;
    std::uint8_t flags;  ///< SendFlags
    std::uint16_t num_sge;
    std::uint32_t imm_or_rkey;
    const Sge* sges;
    std::uint64_t remote_addr;
    std::uint32_t rkey;
    std::uint32_t remote_srqn;  ///< XRC
    std::uint64_t compare_add;
    std::uint64_t swap;
    AddressHandle* ah;  ///< UD
    std::uint32_t remote_qpn;
    std::uint32_t remote_qkey;
    const BindInfo* bind;
};

}  // namespace softib::live
