// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The logical and the physical state of a port, with the numbers of PortInfo, verbs and sysfs (IBA
// vol. 1, 14.2.5.6). core/link/port_state.h has the rules for changes of state.

#include <cstdint>

namespace softib {

enum class PortState : std::uint8_t {
    kNoChange = 0,  ///< In a Set(): the state stays as it is.
    kDown = 1,
    kInit = 2,
    kArmed = 3,
    kActive = 4,
    kActiveDefer = 5,  ///< Active, while the cable recovers from an error.
};

enum class PortPhysicalState : std::uint8_t {
    kNoChange = 0,
    kSleep = 1,
    kPolling = 2,
    kDisabled = 3,
    kTraining = 4,
    kLinkUp = 5,
    kLinkErrorRecovery = 6,
    kPhyTest = 7,
};

}  // namespace softib
