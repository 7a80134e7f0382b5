// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/port_state.h"

namespace softib::link {

void PortState::go_down(Physical physical) {
    const bool was_up = logical_ != Logical::kDown;
    physical_ = physical;
    logical_ = Logical::kDown;
    downed_ += was_up ? 1 : 0;
}

void PortState::handle_other_end_found() {
    if (physical_ == Physical::kPolling) {
        physical_ = Physical::kTraining;
    }
}

void PortState::handle_trained() {
    if (physical_ == Physical::kTraining) {
        physical_ = Physical::kLinkUp;
        logical_ = Logical::kInitialize;
    }
}

void PortState::handle_lost() {
    if (physical_ == Physical::kTraining || physical_ == Physical::kLinkUp ||
        physical_ == Physical::kRecovery) {
        go_down(Physical::kPolling);
    }
}

void PortState::handle_many_errors() {
    if (physical_ == Physical::kLinkUp) {
        physical_ = Physical::kRecovery;
        if (logical_ == Logical::kActive) {
            logical_ = Logical::kActiveDefer;
        }
    }
}

void PortState::handle_recovered() {
    if (physical_ == Physical::kRecovery) {
        physical_ = Physical::kLinkUp;
        ++recovered_;
        if (logical_ == Logical::kActiveDefer) {
            logical_ = Logical::kActive;
        }
    }
}

void PortState::handle_recovery_failed() {
    if (physical_ == Physical::kRecovery) {
        go_down(Physical::kPolling);
    }
}

void PortState::handle_data() {
    if (logical_ == Logical::kArmed) {
        logical_ = Logical::kActive;
    }
}

bool PortState::set_logical(Logical wanted) {
    switch (wanted) {
        case Logical::kDown:
            go_down(Physical::kPolling);
            return true;
        case Logical::kArmed:
            if (logical_ != Logical::kInitialize && logical_ != Logical::kArmed) {
                return false;
            }
            logical_ = wanted;
            return true;
        case Logical::kActive:
            if (logical_ != Logical::kArmed && logical_ != Logical::kActive) {
                return false;
            }
            logical_ = wanted;
            return true;
        case Logical::kInitialize:
        case Logical::kActiveDefer:
            break;
    }
    return false;  // These come about by themselves.
}

bool PortState::set_physical(Physical wanted) {
    if (wanted != Physical::kSleep && wanted != Physical::kPolling &&
        wanted != Physical::kDisabled) {
        return false;
    }
    go_down(wanted);
    return true;
}

bool PortState::may_send(std::uint8_t vl) const {
    if (physical_ != Physical::kLinkUp) {
        return false;
    }
    return vl == kVl15 ? logical_ != Logical::kDown : logical_ == Logical::kActive;
}

bool PortState::may_receive(std::uint8_t vl) const {
    if (physical_ != Physical::kLinkUp) {
        return false;
    }
    return vl == kVl15 ? logical_ != Logical::kDown
                       : logical_ == Logical::kArmed || logical_ == Logical::kActive;
}

}  // namespace softib::link
