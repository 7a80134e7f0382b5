// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/port_state.h"

namespace softib::link {

void PortStateMachine::go_down(PortPhysicalState physical) {
    const bool was_up = logical_ != PortState::kDown;
    physical_ = physical;
    logical_ = PortState::kDown;
    downed_ += was_up ? 1 : 0;
}

void PortStateMachine::handle_other_end_found() {
    if (physical_ == PortPhysicalState::kPolling || physical_ == PortPhysicalState::kSleep) {
        physical_ = PortPhysicalState::kTraining;
    }
}

void PortStateMachine::handle_trained() {
    if (physical_ == PortPhysicalState::kTraining) {
        physical_ = PortPhysicalState::kLinkUp;
        logical_ = PortState::kInit;
    }
}

void PortStateMachine::handle_lost() {
    if (physical_ == PortPhysicalState::kTraining || physical_ == PortPhysicalState::kLinkUp ||
        physical_ == PortPhysicalState::kLinkErrorRecovery) {
        go_down(PortPhysicalState::kPolling);
    }
}

void PortStateMachine::handle_many_errors() {
    if (physical_ == PortPhysicalState::kLinkUp) {
        physical_ = PortPhysicalState::kLinkErrorRecovery;
        if (logical_ == PortState::kActive) {
            logical_ = PortState::kActiveDefer;
        }
    }
}

void PortStateMachine::handle_recovered() {
    if (physical_ == PortPhysicalState::kLinkErrorRecovery) {
        physical_ = PortPhysicalState::kLinkUp;
        ++recovered_;
        if (logical_ == PortState::kActiveDefer) {
            logical_ = PortState::kActive;
        }
    }
}

void PortStateMachine::handle_recovery_failed() {
    if (physical_ == PortPhysicalState::kLinkErrorRecovery) {
        go_down(PortPhysicalState::kPolling);
    }
}

void PortStateMachine::handle_data() {
    if (logical_ == PortState::kArmed) {
        logical_ = PortState::kActive;
    }
}

bool PortStateMachine::set_logical(PortState wanted) {
    if (!may_enter(logical_, wanted)) {
        return false;
    }
    if (wanted == PortState::kDown) {
        go_down(PortPhysicalState::kPolling);
    } else {
        logical_ = wanted;
    }
    return true;
}

void PortStateMachine::follow(PortState shown) {
    if (shown == PortState::kDown) {
        go_down(PortPhysicalState::kPolling);
    } else if (physical_ == PortPhysicalState::kLinkUp && shown > logical_) {
        logical_ = shown;
    }
}

bool PortStateMachine::set_physical(PortPhysicalState wanted) {
    if (wanted != PortPhysicalState::kSleep && wanted != PortPhysicalState::kPolling &&
        wanted != PortPhysicalState::kDisabled) {
        return false;
    }
    go_down(wanted);
    return true;
}

bool PortStateMachine::may_send(std::uint8_t vl) const {
    if (physical_ != PortPhysicalState::kLinkUp) {
        return false;
    }
    return vl == kVl15 ? logical_ != PortState::kDown : logical_ == PortState::kActive;
}

bool PortStateMachine::may_receive(std::uint8_t vl) const {
    if (physical_ != PortPhysicalState::kLinkUp) {
        return false;
    }
    return vl == kVl15 ? logical_ != PortState::kDown
                       : logical_ == PortState::kArmed || logical_ == PortState::kActive;
}

}  // namespace softib::link
