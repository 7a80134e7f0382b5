// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The packet engine: moves packets through a plant (plant.h) by events, one event per hop. An
// engine is set up, given packets and timers, and run by its driver, a Network (network.h), which
// adds the ends: HCA ports and agents of switches. What happens to packets stands in mover.h, what
// may be changed at ports in port_control.h. Whoever asks goes to the part that knows.

#include "net/engine/look_ahead.h"
#include "net/engine/mover.h"
#include "net/engine/port_control.h"

namespace softib::net {

class Engine {
  public:
    /// `width`: a bucket of the event queue is 2^width ps wide, which changes no result; 0: the
    /// engine chooses.
    Engine(const topo::Fabric& fabric, const PlantConfig& config, unsigned width = 0)
        : mover_(fabric, config, width) {}

    // What it has.
    Plant& plant() { return mover_.plant_; }  ///< Links, tables, names, what no state changes.
    const Plant& plant() const { return mover_.plant_; }
    PortControl ports() { return PortControl(mover_); }  ///< Commands on ports.
    const Queues& queues() const { return mover_.queues_; }
    const Cables& cables() const { return mover_.cables_; }
    const Guards& guards() const { return mover_.guards_; }
    const Waits& waits() const { return mover_.waits_; }
    /// Returns nullptr on InfiniBand.
    const Ethernet* ethernet() const { return mover_.ethernet_ ? &*mover_.ethernet_ : nullptr; }
    Border& border() { return mover_.border_; }
    Outbox& outbox() { return mover_.outbox_; }
    const EngineStats& stats() const { return mover_.stats_; }
    counters::PortCounts counts(std::uint32_t port) const;
    counters::LaneCounts lane_counts(std::uint32_t port) const;  ///< All 0 without count_lanes().
    TimePs now() const { return mover_.now(); }
    /// Returns a time before which nothing happens; kNever if nothing is pending.
    TimePs earliest() const { return mover_.schedule_.earliest(); }
    bool idle() const;  ///< Whether nothing will happen any more by itself.
    std::size_t bytes() const;

    // Set up, before anything is sent.
    /// Makes all links Ethernet, for good. Not for an engine that carries a part of a fabric.
    void use_ethernet(const EthernetRules& rules);
    /// Forwards packets that come to the ports of these routers by their GRH. `routers` and
    /// `reader` must outlive the engine. Not for an engine that carries a part of a fabric.
    void use_routers(const Routers* routers, const GidReader* reader);
    /// Handles the events of switches by windows (window_queue.h) if all cables take at least
    /// `shortest`; shorter windows hold too few events to pay. Without drops this changes no
    /// result; senders hear of losses in another order. Not for Ethernet, nor for ends that act on
    /// others.
    void use_windows(TimePs shortest = 400'000);
    /// Marks the cable at a port as cut: it ends at a switch that the engine of `part` carries.
    void cut(std::uint32_t port, std::uint32_t part);
    /// Counts by lane and service level from now on, which costs every hop some time.
    void count_lanes();
    void set_key_reader(const KeyReader* reader) { mover_.guards_.set_reader(reader); }

    // What comes to it.
    /// Sends a packet from an HCA's port, out of a given port of a switch, or from a switch's agent
    /// (port 0) by the switch's tables. A port queues any number of packets; a caller that wants a
    /// limit counts those that have left. Lane 15 stays; otherwise the service level selects it.
    void inject(std::uint32_t port, Packet packet) { mover_.inject(port, packet); }
    /// Gives the ends `word` at `at`. Timers of a port and moment come in the order of `order`.
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t order, std::uint32_t word);
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t word) {
        set_timer(port, at, word, word);
    }
    /// Takes a record that the engine of another part sent. `link` is the number of its link here.
    void take_crossing(std::uint32_t link, const Crossing& crossing);
    /// Fetches the memory that take_crossing() will touch.
    void fetch_crossing(std::uint32_t link, const Crossing& crossing) const;

    // Running. The driver empties outbox() after each call.
    /// Returns whether the one queue has an event until a time; with windows, that of the HCAs.
    bool due(TimePs until) { return mover_.schedule_.queue().due(until); }
    void step();  ///< Handles the next event (engine_inline.h).
    void set_now(TimePs at) { mover_.schedule_.set_now(at); }
    bool has_windows() const { return mover_.has_windows(); }
    TimePs last_event() const { return mover_.schedule_.last_event(); }
    /// Goes on to the window in which `at` lies; nothing is due before. Returns its last moment.
    TimePs begin_window(TimePs at, TimePs until);
    /// Returns the next switch from `bin` on that has events in the window; kNoBin if none has.
    std::uint32_t next_switch(std::uint32_t bin) const;
    /// Handles a switch's events until `end`. Returns false if its agent got a packet: call again.
    bool run_switch(std::uint32_t bin, TimePs end) { return mover_.run_switch(bin, end); }
    void end_window(TimePs end) { mover_.end_window(end); }  ///< All nodes have come to `end`.
    /// Takes in all credits that have come back, at least once a second where time passes without
    /// packets: lanes tell times apart by their low bits. Returns false if some are on the way.
    bool settle_credits();
    void give_back();  ///< Frees the memory that a burst of packets took, once none is left.

  private:
    Mover mover_;
    LookAhead ahead_;
};

}  // namespace softib::net
