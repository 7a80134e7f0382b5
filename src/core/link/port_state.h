// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The physical and the logical state of a port. The physical one describes how the port finds the
// other end and trains the cable (IBA vol. 2, 5.7.4). The logical one says which packets may pass
// (vol. 1, 7.2.7): none in Down, only management (VL15) in Initialize, management and received data
// in Armed, all in Active. The subnet manager moves a port from Initialize to Armed to Active. An
// armed port also becomes active when it receives data, because then the other end is active.
//
// The caller drives the state machine: events of the cable and wishes of the manager are calls. A
// node's SMA drives the machine whose state PortInfo shows (core/agent/sma_port.cc). The packet
// engine (src/net) has a machine of its own for each port, since only the engine sees errors and
// data; that machine follows the SMA's.

#include <cstdint>

#include "core/base/port_state.h"
#include "core/link/arbiter.h"

namespace softib::link {

/// Returns whether a manager may move a port from one state to another. The port makes the other
/// changes by itself.
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

    // Events of the cable.
    void handle_other_end_found();  ///< Begins training: both ends poll.
    void handle_trained();
    void handle_lost();         ///< Takes the port down, because the other end is gone.
    void handle_many_errors();  ///< Begins link error recovery.
    void handle_recovered();
    void handle_recovery_failed();
    void handle_data();  ///< Makes an armed port active, because it has received a data packet.

    /// Does what the manager wrote to PortInfo.PortState. Returns false, with nothing changed, if
    /// the present state does not allow it (IBA vol. 1, 14.2.5.6).
    bool set_logical(PortState wanted);
    /// Does what the manager wrote to PortInfo.PortPhysicalState. Returns false, with nothing
    /// changed, unless `wanted` is kSleep, kPolling or kDisabled.
    bool set_physical(PortPhysicalState wanted);

    /// Takes over the state of the machine that the port's SMA drives, which has checked it. A
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
