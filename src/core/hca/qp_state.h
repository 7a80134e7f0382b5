// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The queue pair state machine as a table: which transitions exist for which transport, which
// attributes each one requires and which are optional (IBA vol. 1, 10.3.1 and 11.2.5.2).
//
// The enumerators have the values of ibv_qp_type, ibv_qp_state and ibv_qp_attr_mask, so that the
// C ABI converts them by a cast; a test there checks that they are equal.

#include <cstdint>
#include <optional>

namespace softib::hca {

enum class QpType : std::uint8_t {
    kRc = 2,
    kUc = 3,
    kUd = 4,
    kXrcSend = 9,   ///< The initiator's end: a send queue only.
    kXrcRecv = 10,  ///< The target's end: receives into shared receive queues.
};

enum class QpState : std::uint8_t {
    kReset = 0,
    kInit = 1,
    kRtr = 2,
    kRts = 3,
    kSqd = 4,
    kSqe = 5,
    kErr = 6,
};

/// Bits of an attribute mask; plain integers, because masks are combined and come from C.
namespace qp_attr {
inline constexpr std::uint32_t kState = 1U << 0;
inline constexpr std::uint32_t kCurState = 1U << 1;
inline constexpr std::uint32_t kEnSqdAsyncNotify = 1U << 2;
inline constexpr std::uint32_t kAccessFlags = 1U << 3;
inline constexpr std::uint32_t kPkeyIndex = 1U << 4;
inline constexpr std::uint32_t kPort = 1U << 5;
inline constexpr std::uint32_t kQkey = 1U << 6;
inline constexpr std::uint32_t kAv = 1U << 7;
inline constexpr std::uint32_t kPathMtu = 1U << 8;
inline constexpr std::uint32_t kTimeout = 1U << 9;
inline constexpr std::uint32_t kRetryCnt = 1U << 10;
inline constexpr std::uint32_t kRnrRetry = 1U << 11;
inline constexpr std::uint32_t kRqPsn = 1U << 12;
inline constexpr std::uint32_t kMaxQpRdAtomic = 1U << 13;
inline constexpr std::uint32_t kAltPath = 1U << 14;
inline constexpr std::uint32_t kMinRnrTimer = 1U << 15;
inline constexpr std::uint32_t kSqPsn = 1U << 16;
inline constexpr std::uint32_t kMaxDestRdAtomic = 1U << 17;
inline constexpr std::uint32_t kPathMigState = 1U << 18;
inline constexpr std::uint32_t kCap = 1U << 19;
inline constexpr std::uint32_t kDestQpn = 1U << 20;
inline constexpr std::uint32_t kRateLimit = 1U << 25;
}  // namespace qp_attr

enum class TransitionError : std::uint8_t {
    kOk,
    kInvalidTransition,
    kMissingAttribute,
    kUnexpectedAttribute,
};

struct TransitionResult {
    TransitionError error = TransitionError::kOk;
    std::uint32_t offending_mask = 0;  ///< The attributes that are missing or unexpected.

    bool ok() const { return error == TransitionError::kOk; }
};

struct TransitionRule {
    std::uint32_t required = 0;
    std::uint32_t optional = 0;  ///< Does not list qp_attr::kState, which every transition takes.
};

/// Returns the attributes of a transition; std::nullopt if it does not exist for this type. Values
/// outside the enumerations, which a C caller may pass, have no transitions.
std::optional<TransitionRule> transition_rule(QpType type, QpState from, QpState to);

/// Checks whether a modify with this mask may take a queue pair from one state to another. A modify
/// without qp_attr::kState does not change the state: the caller passes `from` as `to`.
TransitionResult check_transition(QpType type, QpState from, QpState to, std::uint32_t mask);

const char* to_string(QpState state);  ///< Returns "RTS", for example.

}  // namespace softib::hca
