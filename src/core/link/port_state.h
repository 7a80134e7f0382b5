// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two states of a port. Its physical half finds the other end and trains the cable (IBA vol. 2,
// 5.7.4); its logical half says which packets may pass (vol. 1, 7.2.7): none while Down, management
// in Initialize, data in as well in Armed, all in Active. The subnet manager moves it from
// Initialize to Armed to Active; an armed port also becomes active when data comes in, as the other
// end is.
//
// Its caller drives it: what the cable does, what the manager says, and the time come in as calls.
// A node's agent drives the one that PortInfo shows (core/agent/sma_port.cc). A network of packets
// has its own, since it also knows of errors and of data, and follows that one.

#include <cstdint>

#include "core/base/port_state.h"
#include "core/link/arbiter.h"

namespace softib::link {

/// Whether a manager may move a port from one state to another; the rest come about by themselves.
constexpr bool may_enter(PortState from, PortState to) {
    switch (to) {
        case PortState::kDown:
            return true;
        case PortState::kArmed:
            return from == PortState::kInit || from == PortState::kArmed;
        case PortState::kActive:
            return from == PortState::kArmed || from == PortState::kActive;
        case PortState::kNoChange:
        case PortState::kInit:
        case PortState::kActiveDefer:
            break;
    }
    return false;
}

class PortStateMachine {
  public:
    PortPhysicalState physical() const { return physical_; }
    PortState logical() const { return logical_; }
    std::uint32_t downed() const { return downed_; }        ///< LinkDownedCounter.
    std::uint32_t recovered() const { return recovered_; }  ///< LinkErrorRecoveryCounter.

    // What the cable does.
    void handle_other_end_found();  ///< Both poll: training begins.
    void handle_trained();
    void handle_lost();         ///< The other end is gone.
    void handle_many_errors();  ///< Recovery begins.
    void handle_recovered();
    void handle_recovery_failed();
    void handle_data();  ///< A data packet has come in.

    // What the manager says: false where the state does not allow it (14.2.5.6).
    bool set_logical(PortState wanted);
    bool set_physical(PortPhysicalState wanted);  ///< kSleep, kPolling or kDisabled.

    /// Takes over the state of the machine that the port's agent drives, which has checked it. A
    /// port that data made active does not go back to Armed.
    void follow(PortState shown);

    bool may_send(std::uint8_t vl) const;
    bool may_receive(std::uint8_t vl) const;

  private:
    void go_down(PortPhysicalState physical);

    PortPhysicalState physical_ = PortPhysicalState::kPolling;
    PortState logical_ = PortState::kDown;
    std::uint32_t downed_ = 0;
    std::uint32_t recovered_ = 0;
};

}  // namespace softib::link
