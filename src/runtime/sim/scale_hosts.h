// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Adapters without a transport, for measuring the fabric itself: a host sends messages as packets
// as fast as its port takes them, and the receiver acknowledges every packet. Nothing is sent
// again: they belong on a fabric that loses nothing.

#include <cstdint>
#include <vector>

#include "runtime/sim/network.h"

namespace softib::sim {

struct ScaleConfig {
    std::uint16_t packet_bytes = 4096;
    std::uint16_t ack_bytes = 64;  ///< 0: nothing is acknowledged.
    std::uint8_t flags = 0;        ///< Of packet_flag, for every packet: kAdaptive, or none.
};

class ScaleHosts {
  public:
    using Net = Network<ScaleHosts>;

    struct Flow {
        std::uint32_t port = 0;  ///< Of the sender.
        Lid source;
        Lid destination;
        std::uint8_t sl = 0;
        std::uint32_t unsent = 0;   ///< Packets.
        std::uint32_t unacked = 0;  ///< Packets.
        std::uint32_t received = 0;
        TimePs done_at = kNever;  ///< All are acknowledged, or received if nothing is acknowledged.
    };

    explicit ScaleHosts(const ScaleConfig& config) : config_(config) {}

    /// One flow at a time per port; the last packet is as long as the others.
    void start(Net& net, std::uint32_t port, Lid source, Lid destination, std::uint64_t bytes,
               std::uint8_t sl = 0) {
        const auto packets =
            static_cast<std::uint32_t>((bytes + config_.packet_bytes - 1) / config_.packet_bytes);
        flows_.push_back({port, source, destination, sl, packets, packets, 0, kNever});
        send(net, static_cast<std::uint32_t>(flows_.size() - 1));
    }
    const std::vector<Flow>& flows() const { return flows_; }
    std::uint32_t unfinished() const {
        return static_cast<std::uint32_t>(flows_.size()) - finished_;
    }

    void deliver(Net& net, std::uint32_t port, const Packet& packet) {
        Flow& flow = flows_[packet.body & ~kAck];
        if ((packet.body & kAck) != 0) {
            if (--flow.unacked == 0) {
                flow.done_at = net.now();
                ++finished_;
            }
            return;
        }
        ++flow.received;
        if (config_.ack_bytes != 0) {
            net.inject(port, {.body = packet.body | kAck,
                              .dlid = packet.slid,
                              .slid = packet.dlid,
                              .bytes = config_.ack_bytes,
                              .sl = packet.sl,
                              .flags = config_.flags});
        } else if (flow.unacked != 0 && --flow.unacked == 0) {
            flow.done_at = net.now();
            ++finished_;
        }
    }
    void sent(Net& net, std::uint32_t, const Packet& packet) {
        if ((packet.body & kAck) == 0) {
            send(net, packet.body);
        }
    }
    void timer(Net&, std::uint32_t, std::uint32_t) {}

  private:
    static constexpr std::uint32_t kAck = 1U << 31;

    void send(Net& net, std::uint32_t index) {
        Flow& flow = flows_[index];
        if (flow.unsent != 0) {
            --flow.unsent;
            net.inject(flow.port, {.body = index,
                                   .dlid = flow.destination.value,
                                   .slid = flow.source.value,
                                   .bytes = config_.packet_bytes,
                                   .sl = flow.sl,
                                   .flags = config_.flags});
        }
    }

    ScaleConfig config_;
    std::vector<Flow> flows_;
    std::uint32_t finished_ = 0;
};

}  // namespace softib::sim
