// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Ethernet links, which have no credits: a switch counts what it holds of each input and lane, and
// tells the sender to pause or drops packets.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/link/pause.h"
#include "core/switch/ethernet.h"
#include "net/plant/packet.h"

namespace softib::net {

/// How the switches of an engine work when its links are Ethernet: there are no credits, and
/// senders may overrun buffers.
struct EthernetRules {
    /// Switches pause senders (PFC) so that nothing is lost; otherwise they drop what finds no
    /// room.
    bool lossless = true;
    /// Bytes held for one lane of one input above which the switch pauses the sender.
    std::uint32_t xoff_bytes = 65536;
    /// Bytes held at or below which the sender may go on.
    std::uint32_t xon_bytes = 49152;
    std::uint32_t buffer_bytes = 16U << 20;  ///< Buffer of a switch, for all its queues.
    /// If not lossless: the part of the free buffer that one queue may fill.
    double dynamic_threshold = 1.0;
    sw::EcnRule ecn{};
    /// How a switch chooses among the equal ports of a packet that allows it.
    enum class Spread : std::uint8_t {
        kFlows,    ///< A hash of source, destination and the flow's entropy decides (ECMP).
        kPackets,  ///< Each packet goes to the next port in turn.
        kLoad,     ///< Each packet goes to the port with the least to do.
    };
    Spread spread = Spread::kFlows;
    std::uint64_t seed = 1;  ///< Seed of hashes and of drawn ECN marks.
};

class Ethernet {
  public:
    using Tell = link::PauseGate::Tell;

    Ethernet(const EthernetRules& rules, std::uint32_t ports, std::uint32_t lanes,
             std::uint32_t nodes);

    const EthernetRules& rules() const { return rules_; }
    /// A link to a switch: how long its cable takes, and the switch to look at a packet.
    struct LinkTimes {
        std::uint32_t block_ps;
        TimePs cable_ps;
        TimePs silicon_ps;
        std::uint16_t packet_bytes_max;
    };
    /// Lets the switch at the end of a link pause its sender.
    void set_pause(std::uint32_t link, const LinkTimes& times);
    /// Returns the blocks of buffer that a link needs to lose nothing: what comes before and after
    /// its sender is told to pause.
    std::uint64_t pause_blocks(std::uint32_t link) const {
        return std::uint64_t{pause_[link].xoff_blocks} + pause_[link].headroom_blocks;
    }

    /// A packet and the place in a switch where it is.
    struct At {
        std::uint32_t link;
        std::uint32_t lane;
        std::uint32_t node;
        std::uint16_t blocks;
    };
    /// Takes a packet into a switch and sets what its sender must be told. Returns false, with
    /// nothing changed, if the packet finds no room.
    bool arrive(const At& at, Tell& tell);
    /// Takes a packet out of a switch's buffer. Returns what its sender must be told.
    Tell leave(const At& at);

    enum class Verdict : std::uint8_t { kKeep, kMark, kDrop };
    /// Returns what becomes of a packet that lines up behind `queued` blocks at a port of a switch.
    /// `name`: number of the link in the whole fabric.
    Verdict line_up(std::uint32_t port, std::uint32_t node, std::uint32_t queued,
                    std::uint16_t blocks, std::uint32_t name);

    /// Returns the port by which a switch sends a flow, of several that are equal.
    std::uint8_t hashed_port(std::span<const std::uint8_t> ports, std::uint32_t node, Lid source,
                             Lid destination, std::uint8_t entropy) const {
        return sw::hashed_port(
            ports, {.source = source.value, .destination = destination.value, .entropy = entropy},
            rules_.seed + node);
    }

  private:
    EthernetRules rules_;
    std::vector<link::PauseRule> pause_;   ///< By link.
    std::vector<link::PauseGate> gates_;   ///< By lane.
    std::vector<std::uint32_t> held_;      ///< By node: blocks in its buffer.
    std::vector<std::uint64_t> lined_up_;  ///< By port: packets so far, so that draws differ.
};

}  // namespace softib::net
