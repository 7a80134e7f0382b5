// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How message hosts (message_hosts.h) work.

#include <cstdint>
#include <optional>

#include "core/link/congestion_algorithms.h"
#include "net/plant/units.h"

namespace softib::net {

/// The part of it for hosts that speak RoCEv2.
struct RoceConfig {
    /// Selective repeat: only lost packets are sent again. Otherwise go-back-N: all from the first
    /// lost packet on.
    bool selective = false;
    /// With selective repeat: how many packets may overtake a packet before it counts as lost.
    std::uint32_t reorder_packets = 0;
    /// How senders slow down; null: they do not.
    const link::CongestionAlgorithm* algorithm = link::find_congestion_algorithm("dcqcn");
    link::CongestionRules congestion = {};  ///< Parameters of the algorithms.
    bool by_connection = false;  ///< Connections of a pair of ports differ in their UDP port.
};

struct MessageConfig {
    std::uint16_t mtu = 4096;
    std::uint16_t header_bytes = 26;        ///< Headers of each packet: LRH, BTH, ICRC, VCRC.
    std::uint16_t first_header_bytes = 16;  ///< Further header of the first packet: RETH.
    /// Bytes of an acknowledgement; 0: there are none, and delivery ends a message.
    std::uint16_t ack_bytes = 30;
    /// Packets from one acknowledgement to the next; at most half a window.
    std::uint32_t ack_every = 256;
    /// Packets that may be sent and not acknowledged; 0: any number.
    std::uint32_t window_packets = 0;
    std::uint32_t burst_packets = 8;  ///< Packets that a message sends before it is another's turn.
    bool adaptive = false;            ///< Switches may choose the ports of packets.
    /// Picoseconds that a port takes at least to send 64 bytes; 0: as fast as its link.
    std::uint32_t inject_block_ps = 0;
    /// Picoseconds at least from the begin of one message at a port to that of the next.
    TimePs message_gap_ps = 0;
    /// Picoseconds that the HCA's bus takes at least for 64 bytes, in each direction; 0: no limit.
    std::uint32_t pcie_block_ps = 0;
    TimePs pcie_round_trip_ps = 700'000;  ///< Time to fetch a context over the bus.
    std::uint32_t context_entries = 0;    ///< Contexts that an HCA holds; 0: any number.
    std::uint32_t context_fetches = 16;   ///< Contexts that a sending HCA fetches at a time.
    TimePs timeout_ps = 524'288'000;      ///< Local ACK timeout: 4.096 us * 2^7.
    std::uint8_t retries = 7;  ///< Timeouts in a row without progress before a sender gives up.
    /// Time that news take: that a packet was lost, a message was given up, or an answer is wanted
    /// again. As long as the shortest cable takes, see message_losses.cc.
    TimePs news_ps = 0;
    std::uint64_t seed = 1;  ///< Seed by which an HCA draws the context that it evicts.
    std::optional<RoceConfig> roce = {};  ///< Set if the HCAs speak RoCEv2.
};

}  // namespace softib::net
