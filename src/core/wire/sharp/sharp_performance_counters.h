// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpPerformanceCounters: the counters of an aggregation node.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpPerformanceCounters {
    static constexpr std::size_t kBytes = 80;

    std::uint16_t counter_select = 0;
    std::uint64_t packet_sent = 0;
    std::uint64_t ack_packet_sent = 0;
    std::uint64_t retry_packet_sent = 0;
    std::uint64_t rnr_event = 0;
    std::uint64_t timeout_event = 0;
    std::uint64_t oos_nack_rcv = 0;
    std::uint64_t rnr_nack_rcv = 0;
    std::uint64_t packet_discard_transport = 0;
    std::uint64_t packet_discard_sharp = 0;

    /// Returns the members that are counters: all but counter_select.
    static constexpr auto counters() {
        using T = SharpPerformanceCounters;
        return std::array{&T::packet_sent,         &T::ack_packet_sent,
                          &T::retry_packet_sent,   &T::rnr_event,
                          &T::timeout_event,       &T::oos_nack_rcv,
                          &T::rnr_nack_rcv,        &T::packet_discard_transport,
                          &T::packet_discard_sharp};
    }
    static constexpr auto fields() {
        using T = SharpPerformanceCounters;
        return Fields{
            Field{&T::counter_select, "CounterSelect", sharp_bit(0, 15), 16}.hex(),
            Field{&T::packet_sent, "PacketSent", sharp_bit(2, 31), 64},
            Field{&T::ack_packet_sent, "AckPacketSent", sharp_bit(4, 31), 64},
            Field{&T::retry_packet_sent, "RetryPacketSent", sharp_bit(6, 31), 64},
            Field{&T::rnr_event, "RNREvent", sharp_bit(8, 31), 64},
            Field{&T::timeout_event, "TimeoutEvent", sharp_bit(10, 31), 64},
            Field{&T::oos_nack_rcv, "OOSNackRcv", sharp_bit(12, 31), 64},
            Field{&T::rnr_nack_rcv, "RNRNackRcv", sharp_bit(14, 31), 64},
            Field{&T::packet_discard_transport, "PacketDiscardTransport", sharp_bit(16, 31), 64},
            Field{&T::packet_discard_sharp, "PacketDiscardSHARP", sharp_bit(18, 31), 64},
        };
    }
    friend bool operator==(const SharpPerformanceCounters&,
                           const SharpPerformanceCounters&) = default;
};
static_assert(layout_is_sound<SharpPerformanceCounters>());

}  // namespace softib::wire
