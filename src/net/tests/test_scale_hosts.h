// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// HCAs without a transport, for tests of the fabric itself: a host sends messages as packets as
// fast as its port takes them, and the receiver acknowledges every packet. Nothing is sent again
// and every flow is kept, so that a test sees what the fabric did to each packet. Simulations have
// message_hosts.h.

#include <cstdint>
#include <vector>

#include "core/link/injection.h"
#include "net/engine/network.h"

namespace softib::net {

struct ScaleConfig {
    std::uint16_t packet_bytes = 4096;
    std::uint16_t ack_bytes = 64;  ///< 0: nothing is acknowledged.
    std::uint8_t flags = 0;        ///< Bits of packet_flag for every packet: kAdaptive, or none.
};

class ScaleHosts {
  public:
    using Net = Network<ScaleHosts>;

    struct Flow {
        std::uint32_t port = 0;  ///< Port of the sender.
        Lid source;
        Lid destination;
        std::uint8_t sl = 0;
        std::uint32_t unsent = 0;   ///< Packets not sent yet.
        std::uint32_t unacked = 0;  ///< Packets not acknowledged yet.
        std::uint32_t received = 0;
        TimePs done_at = kNever;  ///< When all were acknowledged, or received if nothing is.
        std::uint32_t becns = 0;
        link::Injection injection = {};
    };

    explicit ScaleHosts(const ScaleConfig& config) : config_(config) {}

    /// Starts a flow, one at a time per port. The last packet is as long as the others. A flow of a
    /// host to itself does not leave the host.
    void start(Engine& net, std::uint32_t port, Lid source, Lid destination, std::uint64_t bytes,
               std::uint8_t sl = 0) {
        add(port, source, destination, bytes, sl);
        ++expected_;
        if (source == destination) {
            Flow& own = flows_.back();
            own.received = own.unsent;
            own.unsent = own.unacked = 0;
            own.done_at = net.now();
            ++finished_;
            return;
        }
        send(net, static_cast<std::uint32_t>(flows_.size() - 1));
    }
    /// Notes a flow that starts in another part of the fabric: flows have the same numbers in all
    /// parts.
    void expect(Lid source, Lid destination, std::uint64_t bytes, std::uint8_t sl = 0) {
        add(0, source, destination, bytes, sl);
    }
    /// Sets the congestion control of all ports, until that of one is set.
    void control_congestion(const link::InjectionRule& rule, const link::DelayTable& table) {
        controls_.assign(1, {.rules = {}, .table = table});
        controls_[0].rules.fill(rule);
        control_of_.clear();
    }
    void control_congestion(std::uint32_t port, const link::InjectionControl& control) {
        if (controls_.empty()) {
            controls_.emplace_back();  // Other ports have no delays.
        }
        if (control_of_.size() <= port) {
            control_of_.resize(port + 1);
        }
        if (control_of_[port] == 0) {
            control_of_[port] = static_cast<std::uint32_t>(controls_.size());
            controls_.emplace_back();
        }
        controls_[control_of_[port]] = control;
    }
    const std::vector<Flow>& flows() const { return flows_; }
    /// Returns how many flows that start here have not ended.
    std::uint32_t unfinished() const { return expected_ - finished_; }

    static constexpr unsigned kHears = hears::kNothingElse;
    /// Returns the P_Key of every packet.
    PKey pkey_of(const Packet&) const { return kPKeyDefaultFull; }
    void deliver(Engine& net, std::uint32_t port, const Packet& packet) {
        Flow& flow = flows_[packet.body & ~kAck];
        if ((packet.body & kAck) != 0) {
            if ((packet.flags & packet_flag::kBecn) != 0 && !controls_.empty()) {
                const link::InjectionControl& control = control_of(flow.port);
                ++flow.becns;
                flow.injection.handle_becn(control.rules[flow.sl], control.table, net.now());
            }
            if (--flow.unacked == 0) {
                flow.done_at = net.now();
                ++finished_;
            }
            return;
        }
        ++flow.received;
        if (config_.ack_bytes != 0) {
            const bool told = (packet.flags & packet_flag::kFecn) != 0;
            net.inject(port, {.body = packet.body | kAck,
                              .dlid = packet.slid,
                              .slid = packet.dlid,
                              .bytes = config_.ack_bytes,
                              .sl = packet.sl,
                              .flags = static_cast<std::uint8_t>(config_.flags |
                                                                 (told ? packet_flag::kBecn : 0))});
        } else if (flow.unacked != 0 && --flow.unacked == 0) {
            flow.done_at = net.now();
            ++finished_;
        }
    }
    void sent(Engine& net, std::uint32_t port, const Packet& packet) {
        if ((packet.body & kAck) != 0) {
            return;
        }
        if (!controls_.empty()) {
            const link::InjectionControl& control = control_of(port);
            const TimePs takes = net.plant().transmit_time(port, packet.bytes);
            const TimePs delay = flows_[packet.body].injection.delay(
                control.rules[packet.sl], control.table, takes, net.now());
            if (delay != 0) {
                net.set_timer(port, net.now() + takes + delay, packet.body);
                return;
            }
        }
        send(net, packet.body);
    }
    void timer(Engine& net, std::uint32_t, std::uint32_t flow) { send(net, flow); }

  private:
    static constexpr std::uint32_t kAck = 1U << 31;

    const link::InjectionControl& control_of(std::uint32_t port) const {
        return controls_[port < control_of_.size() ? control_of_[port] : 0];
    }
    void add(std::uint32_t port, Lid source, Lid destination, std::uint64_t bytes,
             std::uint8_t sl) {
        const auto packets =
            static_cast<std::uint32_t>((bytes + config_.packet_bytes - 1) / config_.packet_bytes);
        flows_.push_back({.port = port,
                          .source = source,
                          .destination = destination,
                          .sl = sl,
                          .unsent = packets,
                          .unacked = packets});
    }
    void send(Engine& net, std::uint32_t index) {
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
    /// Settings; the first one is for ports not in control_of_. Empty: no port slows down.
    std::vector<link::InjectionControl> controls_;
    std::vector<std::uint32_t> control_of_;  ///< By port: place in controls_.
    std::vector<Flow> flows_;
    std::uint32_t expected_ = 0;
    std::uint32_t finished_ = 0;
};
static_assert(Ends<ScaleHosts>);

}  // namespace softib::net
