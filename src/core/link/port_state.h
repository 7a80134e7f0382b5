// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two states of a port. Its physical half finds the other end and trains the cable (IBA vol. 2,
// 5.7.4); its logical half says which packets may pass (vol. 1, 7.2.7): none while Down, management
// in Initialize, data in as well in Armed, all in Active. The subnet manager moves it from
// Initialize to Armed to Active; an armed port also becomes active when data comes in, as the other
// end is.
//
// Its caller drives it: what the cable does, what the manager says, and the time come in as calls.

#include <cstdint>

#include "core/link/arbiter.h"

namespace softib::link {

/// Values of PortInfo.PortPhysicalState.
enum class Physical : std::uint8_t {
    kSleep = 1,
    kPolling = 2,
    kDisabled = 3,
    kTraining = 4,
    kLinkUp = 5,
    kRecovery = 6,
};

/// Values of PortInfo.PortState.
enum class Logical : std::uint8_t {
    kDown = 1,
    kInitialize = 2,
    kArmed = 3,
    kActive = 4,
    kActiveDefer = 5,  ///< Active, while the cable recovers from an error.
};

class PortState {
  public:
    Physical physical() const { return physical_; }
    Logical logical() const { return logical_; }
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
    bool set_logical(Logical wanted);
    bool set_physical(Physical wanted);  ///< kSleep, kPolling or kDisabled.

    bool may_send(std::uint8_t vl) const;
    bool may_receive(std::uint8_t vl) const;

  private:
    void go_down(Physical physical);

    Physical physical_ = Physical::kPolling;
    Logical logical_ = Logical::kDown;
    std::uint32_t downed_ = 0;
    std::uint32_t recovered_ = 0;
};

}  // namespace softib::link
