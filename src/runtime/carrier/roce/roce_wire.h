// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sends and receives the packets of HCAs on Ethernet, as UDP datagrams on the machine's own
// network, by one socket for each HCA. Any RoCEv2 device there can be a peer: another fabric, or
// Linux's Soft-RoCE. The transport sends again what the kernel loses (ADR 10).

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "runtime/carrier/adapters.h"
#include "runtime/carrier/roce/roce_batch.h"
#include "runtime/carrier/roce/roce_cable.h"
#include "runtime/carrier/socket_watch.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class RoceWire {
  public:
    static std::expected<std::unique_ptr<RoceWire>, std::string> open(const shm::Arena& arena,
                                                                      Adapters& adapters,
                                                                      Watchers& watchers);
    ~RoceWire();
    RoceWire(const RoceWire&) = delete;
    RoceWire& operator=(const RoceWire&) = delete;

    /// Sends and receives packets. Returns false if there were none.
    bool run();
    /// Makes arrivals wake the carrier from now on. Returns false if something has yet to leave.
    bool watch();
    /// Writes the packet counts of all HCAs into the arena.
    void publish_counts();

  private:
    struct Port {
        int fd = -1;
        bool wants = false;  ///< Whether the HCA may have something to send.
        std::uint64_t xmit_packets = 0;
        std::uint64_t xmit_words = 0;
        std::uint64_t rcv_packets = 0;
        std::uint64_t rcv_words = 0;
    };
    /// Buffers of one call that receives.
    struct Inbox;

    RoceWire(const shm::Arena& arena, Adapters& adapters, Watchers& watchers);
    bool transmit();
    bool transmit_from(std::uint32_t hca, std::uint32_t& budget);
    bool receive();
    bool receive_at(std::uint32_t hca);
    void take(std::uint32_t hca, std::span<const std::uint8_t> datagram, const GidAndPort& from,
              std::uint16_t place);
    bool is_up(std::uint32_t hca) const;

    const shm::Arena& arena_;
    Adapters& adapters_;
    RoceCable cable_;
    int epoll_fd_ = -1;
    std::vector<Port> ports_;
    std::vector<std::uint32_t> turns_;  ///< HCAs that may have something to send, in their order.
    RoceBatches batches_;
    std::unique_ptr<Inbox> inbox_;
    std::unique_ptr<SocketWatch> watch_;
    hca::Transmit transmit_{};
};

}  // namespace softib::carrier
