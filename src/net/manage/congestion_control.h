// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/link/injection.h"
#include "core/switch/congestion.h"

namespace softib::net {

/// What the congestion manager writes. These defaults keep a flow that only passes by an incast at
/// four fifths of its fair share (congestion_test.cc).
struct CongestionControl {
    sw::MarkingRule marking{.threshold = 1, .packet_blocks = 8};
    link::InjectionRule injection{.timer = 5};  ///< The rule of every service level.
    link::DelayTable table = link::DelayTable::geometric(12, 13, 127);
    /// HCAs slow down service levels instead of queue pairs (Port_Control).
    bool by_level = false;
};

}  // namespace softib::net
