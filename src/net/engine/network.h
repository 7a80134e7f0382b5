// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An engine together with its ends (ends.h), whose type is the template's argument: the network
// lets the engine work and tells the ends what has happened.

#include <cstdint>

#include "net/engine/ends.h"
#include "net/engine/engine.h"

namespace softib::net {

template <typename E>
class Network : public Engine {
    static_assert(Ends<E>, "the compiler's notes name the function that is missing; see ends.h");

  public:
    /// `width`: a bucket of the event queue is 2^width ps wide; 0: the engine chooses. It changes
    /// no result.
    Network(const topo::Fabric& fabric, const PlantConfig& config, E& ends, unsigned width = 0)
        : Engine(fabric, config, width), ends_(ends) {}

    /// Handles all events up to `until`, and sets now() to it. Without `until`: handles events
    /// until none is left.
    void run(TimePs until = kNever) {
        tell_ends();
        if (windows_.on()) {
            run_windows(until, UINT32_MAX);
            return;
        }
        while (queue_.due(until)) {
            const Event event = queue_.pop();
            fetch_ahead();
            handle_one(event);
            tell_ends();
        }
        if (until != kNever) {
            queue_.set_now(until);
        }
    }
    /// Handles events as run() does, but stops after `events_max` of them (not 0), with windows at
    /// the end of a window. Returns false if it stopped for that: now() is the time of the last
    /// event, and there may be more.
    bool run_some(TimePs until, std::uint32_t events_max) {
        tell_ends();
        if (windows_.on()) {
            return run_windows(until, events_max);
        }
        for (; events_max != 0; --events_max) {
            if (!queue_.due(until)) {
                if (until != kNever) {
                    queue_.set_now(until);
                }
                return true;
            }
            const Event event = queue_.pop();
            fetch_ahead();
            handle_one(event);
            tell_ends();
        }
        return false;
    }

  private:
    /// Does what run_some() does, with windows. Stops between windows only.
    bool run_windows(TimePs until, std::uint32_t events_max) {
        const std::uint64_t before = stats_.events;
        for (;;) {
            const TimePs next = earliest();
            if (next == kNever || next > until) {
                queue_.set_now(until != kNever ? until : last_event_);
                return true;
            }
            if (stats_.events - before >= events_max && events_max != UINT32_MAX) {
                return false;
            }
            const TimePs end = begin_window(next, until);
            run_window(end);
            if (end == until) {
                queue_.set_now(until);
                return true;
            }
        }
    }
    /// Handles all events until `end`: first those of HCAs, in order, then switch by switch.
    void run_window(TimePs end) {
        while (queue_.due(end)) {
            const Event event = queue_.pop();
            fetch_ahead();
            handle_one(event);
            tell_ends();
        }
        last_event_ = std::max(last_event_, now());
        for (std::uint32_t bin = windows_.next_bin(0); bin != WindowQueue::kNoBin;
             bin = windows_.next_bin(bin + 1)) {
            fetch_next(bin);
            if (!run_outputs(bin, end)) {
                windows_.open(bin);
                while (run_switch(bin, end)) {
                    taken_ = false;
                    ends_.deliver(*this, taken_port_, taken_packet_);
                }
                windows_.close();
            }
            last_event_ = std::max(last_event_, now());
            tell_ends();
        }
        end_window(end);
        queue_.set_now(last_event_);
    }
    void fetch_ahead() {
        if (!look()) {
            return;
        }
        if constexpr (Hears<E, hears::kFetch>) {
            for (const std::uint32_t index : coming_) {
                ends_.fetch(packets_[index]);
            }
        }
    }
    void handle_one(const Event& event) {
        if (event.kind() == EventKind::kTimer) {
            ++stats_.events;
            ends_.timer(*this, event.link(), event.packet);
            return;
        }
        handle(event);
        if (!tapped_.empty() || !refused_.empty()) [[unlikely]] {
            tell_watchers();  // Before the ends forget the packets' bodies.
        }
        if (taken_) {
            taken_ = false;
            ends_.deliver(*this, taken_port_, taken_packet_);
        }
    }
    void tell_watchers() {
        for (const Tapped& tapped : tapped_) {
            if constexpr (Hears<E, hears::kTapped>) {
                ends_.tapped(*this, tapped.port, tapped.packet);
            }
        }
        tapped_.clear();
        for (const Refused& refused : refused_) {
            if constexpr (Hears<E, hears::kRefused>) {
                ends_.refused(*this, refused.port, refused.inbound, refused.packet);
            }
        }
        refused_.clear();
    }
    void tell_ends() {
        // What the ends do in sent() may make further packets leave.
        while (!left_.empty()) {
            const Left left = left_.back();
            left_.pop_back();
            ends_.sent(*this, left.port, left.packet);
        }
        while (!copied_.empty()) {
            const Copied copied = copied_.back();
            copied_.pop_back();
            if constexpr (Hears<E, hears::kCopied>) {
                ends_.copied(*this, copied.packet, copied.more);
            }
        }
        while (!dropped_.empty()) {
            const Dropped dropped = dropped_.back();
            dropped_.pop_back();
            if constexpr (Hears<E, hears::kDropped>) {
                ends_.dropped(*this, dropped.packet, dropped.at);
            }
        }
    }

    E& ends_;
};

}  // namespace softib::net
