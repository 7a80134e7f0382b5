// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The work requests that are posted to a queue pair, and their completions.

#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "core/hca/memory_table.h"
#include "core/hca/request.h"
#include "core/hca/vocabulary.h"

namespace softib::hca {

using CqId = Id<struct CqIdTag, std::uint32_t>;
using SrqId = Id<struct SrqIdTag, std::uint32_t>;

/// A send request. Immediate data is in host byte order.
struct WorkRequest : Request {
    WorkRequest() : Request{} { opcode = WrOpcode::kSend; }
    explicit WorkRequest(const Request& request) : Request(request) {}

    std::span<const Sge> sges{};                  ///< Copied when posted.
    std::span<const std::uint8_t> inline_data{};  ///< With kSendInline, the data instead of `sges`.
    AddressVector av{};                           ///< UD only.
    BindRequest bind{};
};

enum class PostError : std::uint8_t {
    kOk,
    kInvalid,  ///< The queue pair does not allow the request, or not in its present state.
    kFull,
};

struct Completion {
    std::uint64_t wr_id = 0;
    Qpn qpn{};
    WcStatus status = WcStatus::kSuccess;
    WcOpcode opcode = WcOpcode::kSend;
    std::uint8_t flags = 0;  ///< WcFlags
    bool is_receive = false;
    std::uint32_t byte_len = 0;
    std::uint32_t imm_or_rkey = 0;
    // Received messages only.
    Qpn src_qp{};
    Lid slid{};
    std::uint8_t sl = 0;
    std::uint8_t dlid_path_bits = 0;
    std::uint16_t pkey_index = 0;
};

}  // namespace softib::hca
