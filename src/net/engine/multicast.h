// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies of multicast packets: by which ports of a switch they leave, and when the room that the
// original has in the buffer is free.

#include <array>
#include <cstdint>
#include <span>

#include "core/switch/forward.h"
#include "net/plant/packet.h"

namespace softib::net {

class Multicast {
  public:
    using Group = std::array<std::uint64_t, 4>;  ///< Bit n: the switch copies packets to port n.

    struct Verdict {
        std::span<const std::uint8_t> ports;  ///< Valid until the next choice.
        bool no_lane = false;                 ///< Some port of the group has no lane for it.
    };
    /// Returns the ports by which a packet that came in at port `in` leaves: those of its group,
    /// but for `in` itself. `lets_out(port)` is whether the port sends the packet; `has_lane(port)`
    /// whether it has a lane for it there.
    template <typename LetsOut, typename HasLane>
    Verdict choose(const Group& group, std::uint8_t in, LetsOut lets_out, HasLane has_lane) {
        std::size_t count = 0;
        bool no_lane = false;
        sw::for_each_copy(
            static_cast<std::uint32_t>(group.size()),
            [&](std::uint32_t word) { return group[word]; }, in,
            [&](std::uint8_t port) {
                if (!lets_out(port)) {
                    return;
                }
                if (has_lane(port)) {
                    ports_[count++] = port;
                } else {
                    no_lane = true;
                }
            });
        return {std::span(ports_).first(count), no_lane};
    }

    /// Makes a packet the original of some copies. It stays in the buffer until the last has left.
    static void split(Packet& original, std::size_t copies) {
        original.round_or_copies = static_cast<std::uint16_t>(copies);
    }
    /// Returns a copy of a packet, whose place in the engine is `index`.
    static Packet copy_of(const Packet& original, std::uint32_t index) {
        Packet copy = original;
        copy.flags |= packet_flag::kCopy;
        copy.in_link = index;
        return copy;
    }
    /// Notes that a copy is gone. Returns whether it was the last.
    static bool leave(Packet& original) { return --original.round_or_copies == 0; }

  private:
    std::array<std::uint8_t, 256> ports_{};
};

}  // namespace softib::net
