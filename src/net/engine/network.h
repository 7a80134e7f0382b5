// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An engine together with its ends (ends.h), whose type is the template's argument: the network
// lets the engine work and tells the ends what has happened.

#include <cstdint>

#include "net/engine/ends.h"
#include "net/engine/engine_inline.h"

namespace softib::net {

template <typename E>
class Network {
    static_assert(Ends<E>, "the compiler's notes name the function that is missing; see ends.h");

  public:
    /// `width`: a bucket of the event queue is 2^width ps wide; 0: the engine chooses. It changes
    /// no result.
    Network(const topo::Fabric& fabric, const PlantConfig& config, E& ends, unsigned width = 0)
        : engine_(fabric, config, width), ends_(ends) {}
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    Engine& engine() { return engine_; }
    const Engine& engine() const { return engine_; }

    /// Handles all events up to `until`, and sets the engine's time to it. Without `until`: handles
    /// events until none is left.
    void run(TimePs until = kNever) {
        engine_.outbox().tell_rest(engine_, ends_);
        if (engine_.has_windows()) {
            run_windows(until, UINT32_MAX);
            return;
        }
        while (engine_.due(until)) {
            step();
        }
        if (until != kNever) {
            engine_.set_now(until);
        }
    }
    /// Handles events as run() does, but stops after `events_max` of them (not 0), with windows at
    /// the end of a window. Returns false if it stopped for that: the engine's time is that of the
    /// last event, and there may be more.
    bool run_some(TimePs until, std::uint32_t events_max) {
        engine_.outbox().tell_rest(engine_, ends_);
        if (engine_.has_windows()) {
            return run_windows(until, events_max);
        }
        for (; events_max != 0; --events_max) {
            if (!engine_.due(until)) {
                if (until != kNever) {
                    engine_.set_now(until);
                }
                return true;
            }
            step();
        }
        return false;
    }

  private:
    /// Handles one event, and tells the ends of it.
    [[gnu::always_inline]] void step() {
        engine_.step();
        Outbox& told = engine_.outbox();
        if constexpr (Hears<E, hears::kFetch>) {
            if (!told.coming.empty()) {
                for (const std::uint32_t index : told.coming) {
                    ends_.fetch(engine_.queues()[index]);
                }
                told.coming.clear();
            }
        }
        told.tell_event(engine_, ends_);
        told.tell_rest(engine_, ends_);
    }
    /// Does what run_some() does, with windows. Stops between windows only.
    bool run_windows(TimePs until, std::uint32_t events_max) {
        const std::uint64_t before = engine_.stats().events;
        for (;;) {
            const TimePs next = engine_.earliest();
            if (next == kNever || next > until) {
                engine_.set_now(until != kNever ? until : engine_.last_event());
                return true;
            }
            if (engine_.stats().events - before >= events_max && events_max != UINT32_MAX) {
                return false;
            }
            const TimePs end = engine_.begin_window(next, until);
            run_window(end);
            if (end == until) {
                engine_.set_now(until);
                return true;
            }
        }
    }
    /// Handles all events until `end`: first those of HCAs, in order, then switch by switch.
    void run_window(TimePs end) {
        while (engine_.due(end)) {
            step();
        }
        for (std::uint32_t bin = engine_.next_switch(0); bin != WindowQueue::kNoBin;
             bin = engine_.next_switch(bin + 1)) {
            while (!engine_.run_switch(bin, end)) {
                engine_.outbox().deliver(engine_, ends_);
            }
            engine_.outbox().tell_rest(engine_, ends_);
        }
        engine_.end_window(end);
    }

    Engine engine_;
    E& ends_;
};

}  // namespace softib::net
