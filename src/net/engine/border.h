// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What passes between engines that each carry a part of one fabric (net/sim/partition.h).

#include <algorithm>
#include <cstdint>
#include <vector>

#include "net/plant/packet.h"

namespace softib::net {

/// A record that passes between two engines that each carry a part of one fabric: a packet sent
/// over a cut cable, or credits that go back over it. It is sent as plain bytes, so both machines
/// must have the same byte order and layout.
struct Crossing {
    TimePs at = 0;  ///< When the packet arrives, or when its room in the buffer is free.
    /// Number of the link in the whole fabric; kNone: a note of the hosts (part_simulation.cc).
    std::uint32_t link = 0;
    std::uint16_t blocks = 0;  ///< Credits that go back; 0: the record is a packet.
    std::uint8_t vl = 0;
    std::uint8_t unused = 0;
    Packet packet{};
};

class Border {
  public:
    explicit Border(std::uint32_t ports) : ports_(ports) {}

    /// Returns whether any cable is cut.
    bool any() const { return !other_part_.empty(); }
    /// Notes that a cable is cut, and that the engine of `part` carries its other end.
    void cut(std::uint32_t port, std::uint32_t peer, std::uint32_t part) {
        other_part_.resize(ports_, kNone);
        other_part_[port] = other_part_[peer] = part;
        crossings_.resize(std::max<std::size_t>(crossings_.size(), part + std::size_t{1}));
    }
    bool crosses(std::uint32_t link) const { return any() && other_part_[link] != kNone; }
    /// Puts a record among those for the engine at the other end of a link that crosses.
    void put(std::uint32_t link, const Crossing& crossing) {
        crossings_[other_part_[link]].push_back(crossing);
    }
    /// Records for the engines of other parts, by part, since the caller last cleared them.
    std::vector<std::vector<Crossing>>& crossings() { return crossings_; }

  private:
    std::uint32_t ports_;
    std::vector<std::uint32_t> other_part_;  ///< By link: the part that has its other end.
    std::vector<std::vector<Crossing>> crossings_;
};

}  // namespace softib::net
