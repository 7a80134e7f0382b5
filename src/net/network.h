// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An engine together with its ends: HCA ports, and port 0 of switches (their agents). The
// template's argument is a type that handles them:
//   void deliver(Network&, port, const Packet&)   a packet has come in whole; it is gone after this
//   void sent(Network&, port, const Packet&)      a packet injected here has begun to leave
//   void timer(Network&, port, what)              as asked for by set_timer; of a type with
//                                                 kOrdersTimers, what is the word and not the order
//   void copied(Network&, const Packet&, more)    a switch has made more of one with a tag
//   (optional) void dropped(Network&, const Packet&)         a packet with a tag will not arrive
//   (optional) void tapped(Network&, port, const Packet&)    one with a tag came to a tapped port
//   (optional) void refused(Network&, port, inbound, const Packet&)   a guard drops a packet
// They may call inject() and set_timer().

#include <cstdint>

#include "net/engine.h"

namespace softib::net {

template <typename Ends>
class Network : public Engine {
  public:
    /// `width`: of a bucket of the event queue, 2^width ps; 0: chosen. It changes no result.
    Network(const topo::Fabric& fabric, const PlantConfig& config, Ends& ends, unsigned width = 0)
        : Engine(fabric, config, width), ends_(ends) {}

    /// Handles all events up to a time; now() is that time afterwards. Without one: until nothing
    /// is left to happen.
    void run(TimePs until = kNever) {
        tell_ends();
        while (queue_.due(until)) {
            const Event event = queue_.pop();
            if (queue_.begins_bucket()) {
                look_ahead();
            }
            handle_one(event);
            tell_ends();
        }
        if (until != kNever) {
            queue_.set_now(until);
        }
    }
    /// The same, but stops after `events_max` events (not 0). Returns false if it stopped so: now()
    /// is the time of the last event, and there may be more.
    bool run_some(TimePs until, std::uint32_t events_max) {
        tell_ends();
        for (; events_max != 0; --events_max) {
            if (!queue_.due(until)) {
                if (until != kNever) {
                    queue_.set_now(until);
                }
                return true;
            }
            const Event event = queue_.pop();
            if (queue_.begins_bucket()) {
                look_ahead();
            }
            handle_one(event);
            tell_ends();
        }
        return false;
    }

  private:
    void handle_one(const Event& event) {
        if (event.kind() == EventKind::kTimer) {
            ++stats_.events;
            if constexpr (requires { Ends::kOrdersTimers; }) {
                ends_.timer(*this, event.link(), event.packet);
            } else {
                ends_.timer(*this, event.link(), event.extra);
            }
            return;
        }
        handle(event);
        if (!tapped_.empty() || !refused_.empty()) [[unlikely]] {
            tell_watchers();  // While the packets are there.
        }
        if (taken_) {
            taken_ = false;
            ends_.deliver(*this, taken_port_, taken_packet_);
        }
    }
    void tell_watchers() {
        for (const Tapped& tapped : tapped_) {
            if constexpr (requires { ends_.tapped(*this, tapped.port, tapped.packet); }) {
                ends_.tapped(*this, tapped.port, tapped.packet);
            }
        }
        tapped_.clear();
        for (const Refused& refused : refused_) {
            if constexpr (requires {
                              ends_.refused(*this, refused.port, refused.inbound, refused.packet);
                          }) {
                ends_.refused(*this, refused.port, refused.inbound, refused.packet);
            }
        }
        refused_.clear();
    }
    void tell_ends() {
        // What they do now may make others leave.
        while (!left_.empty()) {
            const Left left = left_.back();
            left_.pop_back();
            ends_.sent(*this, left.port, left.packet);
        }
        while (!copied_.empty()) {
            const Copied copied = copied_.back();
            copied_.pop_back();
            if constexpr (requires { ends_.copied(*this, copied.packet, copied.more); }) {
                ends_.copied(*this, copied.packet, copied.more);
            }
        }
        while (!dropped_.empty()) {
            const Packet packet = dropped_.back();
            dropped_.pop_back();
            if constexpr (requires { ends_.dropped(*this, packet); }) {
                ends_.dropped(*this, packet);
            }
        }
    }

    Ends& ends_;
};

}  // namespace softib::net
