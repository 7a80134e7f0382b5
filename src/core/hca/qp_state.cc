// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/qp_state.h"

#include <array>
#include <cstddef>

namespace softib::hca {

namespace {

using namespace qp_attr;

constexpr std::size_t kStates = 7;

/// What a queue pair of some type does. Its attributes follow from its roles: a queue pair that
/// sends requests again needs retry counters, one that answers READs needs resources for them.
struct Roles {
    bool datagram = false;
    bool connected = false;
    bool reliable = false;
    bool requester = false;  ///< Sends reliable requests.
    bool responder = false;  ///< Answers reliable requests.
};

constexpr std::array kTypes{QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcSend,
                            QpType::kXrcRecv};

constexpr Roles roles_of(QpType type) {
    switch (type) {
        case QpType::kRc:
            return {.connected = true, .reliable = true, .requester = true, .responder = true};
        case QpType::kXrcSend:
            return {.connected = true, .reliable = true, .requester = true};
        case QpType::kXrcRecv:
            return {.connected = true, .reliable = true, .responder = true};
        case QpType::kUc:
            return {.connected = true};
        case QpType::kUd:
            return {.datagram = true};
    }
    return {};
}

/// Attributes by role; a queue pair gets the union over its roles.
struct RoleMasks {
    std::uint32_t all = 0;
    std::uint32_t datagram = 0;
    std::uint32_t connected = 0;
    std::uint32_t reliable = 0;
    std::uint32_t requester = 0;
    std::uint32_t responder = 0;

    constexpr std::uint32_t of(const Roles& roles) const {
        return all | (roles.datagram ? datagram : 0) | (roles.connected ? connected : 0) |
               (roles.reliable ? reliable : 0) | (roles.requester ? requester : 0) |
               (roles.responder ? responder : 0);
    }
};

struct Row {
    QpState from;
    QpState to;
    RoleMasks required;
    RoleMasks optional;
    bool reliable_too = true;
};

constexpr RoleMasks kIdentity{
    .all = kPkeyIndex | kPort, .datagram = kQkey, .connected = kAccessFlags};

/// The attributes that are optional in every transition to RTS.
constexpr RoleMasks kRunning{.all = kCurState,
                             .datagram = kQkey,
                             .connected = kAltPath | kAccessFlags | kPathMigState,
                             .responder = kMinRnrTimer};

constexpr Row kRows[] = {
    {.from = QpState::kReset, .to = QpState::kInit, .required = kIdentity, .optional = {}},
    {.from = QpState::kInit, .to = QpState::kInit, .required = {}, .optional = kIdentity},
    {.from = QpState::kInit,
     .to = QpState::kRtr,
     .required = {.connected = kAv | kPathMtu | kDestQpn | kRqPsn,
                  .responder = kMaxDestRdAtomic | kMinRnrTimer},
     .optional = {.all = kPkeyIndex, .datagram = kQkey, .connected = kAltPath | kAccessFlags}},
    {.from = QpState::kRtr,
     .to = QpState::kRts,
     .required = {.all = kSqPsn,
                  .reliable = kTimeout,
                  .requester = kRetryCnt | kRnrRetry | kMaxQpRdAtomic},
     .optional = kRunning},
    {.from = QpState::kRts, .to = QpState::kRts, .required = {}, .optional = kRunning},
    {.from = QpState::kRts,
     .to = QpState::kSqd,
     .required = {},
     .optional = {.all = kEnSqdAsyncNotify}},
    {.from = QpState::kSqd, .to = QpState::kRts, .required = {}, .optional = kRunning},
    {.from = QpState::kSqd,
     .to = QpState::kSqd,
     .required = {},
     .optional = {.all = kPkeyIndex,
                  .datagram = kQkey,
                  .connected = kAv | kAltPath | kAccessFlags | kPathMigState,
                  .reliable = kPort | kTimeout,
                  .requester = kRetryCnt | kRnrRetry | kMaxQpRdAtomic,
                  .responder = kMaxDestRdAtomic | kMinRnrTimer}},
    // A reliable queue pair is never in SQE: it enters the error state (IBA vol. 1, 10.3.1.6).
    {.from = QpState::kSqe,
     .to = QpState::kRts,
     .required = {},
     .optional = {.all = kCurState, .datagram = kQkey, .connected = kAccessFlags},
     .reliable_too = false},
};

struct Cell {
    bool exists = false;
    TransitionRule rule;
};

using Table = std::array<std::array<std::array<Cell, kStates>, kStates>, kTypes.size()>;

constexpr std::size_t index_of(QpState state) {
    return static_cast<std::size_t>(state);
}

constexpr Table make_table() {
    Table table{};
    for (std::size_t t = 0; t < kTypes.size(); ++t) {
        const Roles roles = roles_of(kTypes[t]);
        for (std::size_t from = 0; from < kStates; ++from) {
            // Reset and error are reachable from everywhere (IBA vol. 1, 10.3.1).
            table[t][from][index_of(QpState::kReset)].exists = true;
            table[t][from][index_of(QpState::kErr)].exists = true;
        }
        for (const Row& row : kRows) {
            if (!roles.reliable || row.reliable_too) {
                table[t][index_of(row.from)][index_of(row.to)] = {
                    true, {row.required.of(roles), row.optional.of(roles)}};
            }
        }
    }
    return table;
}

constexpr Table kTable = make_table();

}  // namespace

std::optional<TransitionRule> transition_rule(QpType type, QpState from, QpState to) {
    if (index_of(from) >= kStates || index_of(to) >= kStates) {
        return std::nullopt;
    }
    for (std::size_t t = 0; t < kTypes.size(); ++t) {
        if (kTypes[t] == type) {
            const Cell& cell = kTable[t][index_of(from)][index_of(to)];
            return cell.exists ? std::optional(cell.rule) : std::nullopt;
        }
    }
    return std::nullopt;
}

TransitionResult check_transition(QpType type, QpState from, QpState to, std::uint32_t mask) {
    const std::optional<TransitionRule> rule = transition_rule(type, from, to);
    if (!rule) {
        return {TransitionError::kInvalidTransition, 0};
    }
    if (const std::uint32_t missing = rule->required & ~mask; missing != 0) {
        return {TransitionError::kMissingAttribute, missing};
    }
    const std::uint32_t allowed = rule->required | rule->optional | kState;
    if (const std::uint32_t unexpected = mask & ~allowed; unexpected != 0) {
        return {TransitionError::kUnexpectedAttribute, unexpected};
    }
    return {};
}

const char* to_string(QpState state) {
    constexpr std::array kNames{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return index_of(state) < kNames.size() ? kNames[index_of(state)] : "?";
}

}  // namespace softib::hca
