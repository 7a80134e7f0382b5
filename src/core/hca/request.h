// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a send request says, apart from where its bytes and its destination are. A program's library
// fills it, a ring in the arena carries it, an HCA executes it: the three requests derive from it,
// so that one becomes another by an assignment.

#include <cstdint>
#include <type_traits>

#include "core/hca/vocabulary.h"

namespace softib::hca {

/// Plain numbers, as in a ring that a program has written. A program's library leaves those unset
/// that the opcode and the transport do not use, because every request passes there.
struct Request {
    std::uint64_t wr_id;
    std::uint64_t remote_addr;
    std::uint64_t compare_add;
    std::uint64_t swap;
    std::uint32_t imm_or_rkey;
    std::uint32_t rkey;
    std::uint32_t remote_srqn;  ///< XRC only.
    std::uint32_t remote_qpn;   ///< UD only.
    std::uint32_t remote_qkey;  ///< UD only.
    WrOpcode opcode;
    std::uint8_t flags;  ///< SendFlags
};
static_assert(std::is_trivial_v<Request>);

}  // namespace softib::hca
