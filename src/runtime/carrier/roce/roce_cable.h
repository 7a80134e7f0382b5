// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The cables of HCAs on Ethernet, for captures and faults. No such cables exist, but captures show
// what sockets send and receive as Ethernet frames, and faults lose and break packets.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/prng.h"
#include "core/hca/context.h"
#include "runtime/carrier/watchers.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class RoceCable {
  public:
    RoceCable(const shm::Arena& arena, Watchers& watchers)
        : arena_(arena), watchers_(watchers), prng_(arena.header->instance) {}

    /// Passes a packet that an HCA sends through its cable. Returns false if the cable loses or
    /// breaks the packet.
    bool leaves(std::uint32_t hca, const hca::Transmit& transmit);
    /// Passes a packet that comes to an HCA through its cable. Returns false if the cable loses or
    /// breaks the packet.
    bool arrives(std::uint32_t hca, const wire::PacketHeaders& headers,
                 std::span<const std::uint8_t> payload);

  private:
    enum class Fate : std::uint8_t { kArrives, kLost, kBroken };
    shm::SwitchPortRecord* far_end(std::uint32_t hca) const;
    Fate draw(const shm::LinkFaults& faults);
    void show(std::uint32_t taps, const wire::PacketHeaders& headers,
              std::span<const std::uint8_t> payload, bool broken);

    const shm::Arena& arena_;
    Watchers& watchers_;
    Prng prng_;
    std::vector<std::uint8_t> payload_;
    std::vector<std::uint8_t> frame_;
};

}  // namespace softib::carrier
