// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Work requests as the direct path takes them, with the vocabulary that all transports share.

#include <cstdint>

#include "core/hca/request.h"
#include "core/hca/vocabulary.h"
#include "runtime/shm/arena.h"

namespace softib::shm {

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

/// An address handle, with the path to its destination.
struct AddressHandle {
    AddressVector to;
    /// The path as last walked: generation << 32 | P_Key << 16 | HCA + 1, or 0 for the HCA if
    /// packets with this P_Key do not arrive. One word, because queue pairs of several stripes may
    /// share a handle, so that no stripe's lock guards it.
    std::atomic<std::uint64_t> path{0};
};

/// A memory window to bind, and what to bind it to.
struct BindInfo {
    std::uint32_t mr_index;
    std::uint32_t mw_index;
    std::uint32_t new_rkey;
    std::uint32_t access;
    std::uint64_t address;
    std::uint64_t length;
};

/// A send request. Immediate data is in network byte order.
struct WorkRequest : hca::Request {
    std::uint32_t num_sge;
    const Sge* sges;
    AddressHandle* ah;     ///< UD only.
    const BindInfo* bind;  ///< kBindMw only.
};

}  // namespace softib::shm
