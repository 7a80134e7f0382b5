// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The packet engine: moves packets through a plant (plant.h) by events, one event per hop. When a
// port begins to send a packet, the engine schedules the moment at which the next switch has looked
// up the packet's first bits and can send it on. A port that cannot send is woken when its cable is
// free or its credits are back; a wake is scheduled only if a packet waits. Nothing is allocated
// per hop, and no call is virtual.
//
// A switch keeps a packet in the buffer of the link by which it came until the packet's last bit
// has left, and queues it at its out port and lane (queues.h). Packets for different ports never
// wait for each other (virtual output queues).
//
// The engine has parts. A part decides and the engine acts: no part schedules an event, moves a
// packet or knows the engine. engine.cc has what every packet does, engine_rare.cc what few meet,
// engine_ports.cc cables and port states, engine_commands.cc what else its owner asks for. round.cc
// handles the events of a window switch by switch. A Network (network.h) adds the ends: HCA ports
// and agents of switches.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/engine/border.h"
#include "net/engine/cables.h"
#include "net/engine/choice.h"
#include "net/engine/ethernet.h"
#include "net/engine/guards.h"
#include "net/engine/lane_counts.h"
#include "net/engine/look_ahead.h"
#include "net/engine/outbox.h"
#include "net/engine/queues.h"
#include "net/engine/round.h"
#include "net/engine/routers.h"
#include "net/engine/schedule.h"
#include "net/engine/stats.h"
#include "net/engine/waits.h"
#include "net/plant/plant.h"

/// Keeps a function that few packets need out of handle(), which inlines everything else.
#define SOFTIB_RARE [[gnu::noinline, gnu::cold]]

namespace softib::net {

class Engine {
  public:
    /// `width`: a bucket of the event queue is 2^width ps wide; 0: the engine chooses. It changes
    /// no result.
    Engine(const topo::Fabric& fabric, const PlantConfig& config, unsigned width = 0);

    // What it has. Whoever asks goes to the part.
    Plant& plant() { return plant_; }  ///< Links, tables, names, counters that no state changes.
    const Plant& plant() const { return plant_; }
    const Queues& queues() const { return queues_; }  ///< What waits, for inspectors.
    const Cables& cables() const { return cables_; }
    const Guards& guards() const { return guards_; }
    const Waits& waits() const { return waits_; }
    /// Returns nullptr on InfiniBand.
    const Ethernet* ethernet() const { return ethernet_.get(); }
    Border& border() { return border_; }
    Outbox& outbox() { return outbox_; }
    const EngineStats& stats() const { return stats_; }
    counters::PortCounts counts(std::uint32_t port) const;
    /// Returns the counters by lane and service level; all 0 without count_lanes().
    counters::LaneCounts lane_counts(std::uint32_t port) const;
    TimePs now() const { return schedule_.now(); }
    /// Returns a time before which nothing happens; kNever if nothing is pending.
    TimePs earliest() const { return schedule_.earliest(); }
    /// Returns whether nothing will happen any more by itself.
    bool idle() const {
        // Events that only check limits of waiting find nothing where no packet is.
        const std::uint64_t pending = schedule_.pending();
        return outbox_.dropped.empty() &&
               (pending == 0 || (pending == waits_.watching && queues_.packets().live() == 0));
    }
    std::size_t bytes() const { return plant_.bytes() + queues_.bytes() + schedule_.bytes(); }

    // Set up, before anything is sent.
    /// Makes all links Ethernet, for good. Not for an engine that carries a part of a fabric.
    void use_ethernet(const EthernetRules& rules);
    /// Forwards packets that come to the ports of these routers by their GRH. `routers` and
    /// `reader` must outlive the engine. Not for an engine that carries a part of a fabric.
    void use_routers(const Routers* routers, const GidReader* reader);
    /// Handles the events of switches by windows (window_queue.h) from now on, if all cables take
    /// at least `shortest`: shorter windows hold too few events to pay. This changes no result as
    /// long as nothing is dropped; senders are told of losses in another order. Not for Ethernet,
    /// nor where ends at switches act on each other.
    void use_windows(TimePs shortest = 400'000);
    /// Marks the cable at a port as cut: it ends at a switch that the engine of `part` carries.
    void cut(std::uint32_t port, std::uint32_t part);
    /// Counts by lane and service level from now on, which costs every hop some time.
    void count_lanes();
    /// Sets who knows the P_Keys of packets, for guards.
    void set_key_reader(const KeyReader* reader) { guards_.set_reader(reader); }

    // Commands, at any time: what changes now acts on what waits.
    /// Sends a packet from an HCA's port, out of a given port of a switch, or from a switch's agent
    /// (port 0) by the switch's tables. A port queues any number of packets; a caller that wants a
    /// limit counts those that have left. A packet whose `vl` is 15 stays on VL15; the service
    /// level of others selects the lane.
    void inject(std::uint32_t port, Packet packet);
    /// Sets a timer of a port: the ends are given `word` at `at`. Timers of one port and moment
    /// come in the order of `order`.
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t order, std::uint32_t word) {
        schedule_.queue().push(at, port, EventKind::kTimer, word, order);
    }
    /// Sets a timer as above, ordered by its word.
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t word) {
        set_timer(port, at, word, word);
    }
    /// Sets the VL arbitration table of a port: lanes that were in no list may send now.
    void set_arbitration(std::uint32_t port, const link::ArbitrationTable& table);
    void set_limits(std::uint32_t port, const sw::WaitingLimits& limits);
    void set_guard(std::uint32_t port, const Guard& guard);
    /// Shows packets with a tag that come in at a port to the ends, or stops doing so.
    void set_tap(std::uint32_t port, bool tapped);
    // States. set_link(), retrain() and set_speed() act on both directions of the cable at a port.
    /// Takes a cable down or brings it back. A cable that comes back is trained for a time
    /// (PlantConfig::training_ps). Then its ports are active, or wait for a manager.
    void set_link(std::uint32_t port, bool up);
    /// Makes both ports of a cable train again, as after too many errors. Packets on the cable are
    /// lost; packets that wait for it go on waiting.
    void retrain(std::uint32_t port, TimePs takes);
    /// Takes down all cables of a node, or brings them back.
    void set_node(std::uint32_t node, bool alive);
    /// Puts all ports into Initialize. From now on they also stay there after a training, until a
    /// manager moves them on.
    void manage_ports();
    /// Puts one port into Initialize as if its cable came up again, unless it is in training.
    void initialize_port(std::uint32_t port);
    /// Sets the logical state of a port as a manager asks. Returns false, with nothing changed, if
    /// the port's state does not allow it.
    bool set_logical(std::uint32_t port, PortState wanted);
    /// Brings a port to the state that its agent shows.
    void follow_state(std::uint32_t port, PortState shown);
    /// Returns the state of a port. Ports begin active.
    link::PortStateMachine& state(std::uint32_t port) { return cables_.state(port); }
    // Faults of one port or direction.
    void set_errors(std::uint32_t port, const CableErrors& errors);
    /// Sets by how many broken packets may outnumber good ones at a port before it counts a link
    /// integrity error; 0: any number.
    void set_error_limit(std::uint32_t port, std::uint8_t packets) {
        cables_.set_error_limit(port, packets);
    }
    /// Takes credits from a sender for good; returns how many blocks it had to give.
    std::uint16_t steal_credits(std::uint32_t port, std::uint8_t vl, std::uint16_t blocks);
    /// Makes an HCA take this long for each 64 bytes that came in, one packet after the other.
    void set_slow(std::uint32_t port, std::uint32_t block_ps);
    /// Makes an HCA handle nothing that comes in before `until`.
    void pause(std::uint32_t port, TimePs until);
    /// Makes one direction of a cable take this much longer from now on. Packets under way keep
    /// their times of arrival, so that packets sent after a smaller delay is set may overtake them.
    void set_delay(std::uint32_t port, std::uint32_t extra_ps);
    /// Sets how long both directions of a cable take for 64 bytes.
    void set_speed(std::uint32_t port, std::uint32_t block_ps);
    /// Takes a record that the engine of another part sent. `link` is the number of its link here.
    void take_crossing(std::uint32_t link, const Crossing& crossing);
    /// Fetches the memory that take_crossing() will touch.
    void fetch_crossing(std::uint32_t link, const Crossing& crossing) const;

    // Running. The driver (network.h) empties outbox() after each call.
    /// Returns whether the one queue has an event until a time; with windows, that of the HCAs.
    bool due(TimePs until) { return schedule_.queue().due(until); }
    /// Handles the next event.
    void step();
    void set_now(TimePs at) { schedule_.set_now(at); }
    bool has_windows() const { return schedule_.windows().on(); }
    TimePs last_event() const { return schedule_.last_event(); }
    /// Goes on to the window in which `at` lies; nothing is due before `at`. Returns the last
    /// moment of the window, `until` at the latest.
    TimePs begin_window(TimePs at, TimePs until);
    /// Returns the next switch from `bin` on that has events in the window; kNoBin if none has.
    std::uint32_t next_switch(std::uint32_t bin) const { return schedule_.windows().next_bin(bin); }
    /// Handles the events of a switch until `end`. Returns false if a packet came to the switch's
    /// agent: call it again.
    bool run_switch(std::uint32_t bin, TimePs end);
    /// Ends a window, when all nodes have come to `end`.
    void end_window(TimePs end);
    /// Takes in all credits that have come back. Lanes tell times apart by their low bits, so a
    /// caller that lets time pass without packets must call this at least once a second. Returns
    /// false if some credits are still on the way.
    bool settle_credits();
    /// Frees the memory that a burst of packets took, once none is left.
    void give_back();

    /// Returns how much of its buffer a switch needs to lose nothing, on Ethernet; 0 if there are
    /// no pauses.
    std::uint64_t pause_bytes(std::uint32_t node) const;
    /// Returns the port by which a switch sends a flow on, on Ethernet with Spread::kFlows.
    std::uint8_t hashed_route(std::uint32_t node, Lid source, Lid destination,
                              std::uint8_t entropy) const;

  private:
    /// Where a packet leaves a switch.
    struct Hop {
        enum class Why : std::uint8_t { kOn, kUnknown, kLooping, kNoLane };
        Why why;
        std::uint8_t vl;
        bool slower_in;  ///< The packet comes in slower than it goes out.
    };

    // engine.cc
    [[gnu::flatten]] void handle(const Event& event);
    SOFTIB_RARE void handle_rare(const Event& event);
    Hop look_up(const Rx& rx, const Packet& packet, std::uint8_t number) const;
    void arrive(const Event& event);
    void count_in(Rx& rx, const Packet& packet);
    void take(std::uint32_t in, std::uint32_t index);
    void forward(const Rx& rx, std::uint32_t index, Packet& packet, bool fresh);
    void offer(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet);
    std::uint32_t input_of(const Packet& packet) const;
    void wake(std::uint32_t port);
    void send_next(std::uint32_t port, Tx& tx);
    std::uint32_t pop_head(std::uint32_t port, Tx& tx, std::uint8_t vl, Lane& from);
    void plan(std::uint32_t port, Tx& tx, TimePs from);
    void transmit(std::uint32_t port, std::uint8_t vl, Tx& tx, Lane& on, std::uint32_t index,
                  Packet& packet, std::uint16_t blocks);
    void wake_at(std::uint32_t port, Tx& tx, TimePs at);
    void release(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks, TimePs at);
    std::uint16_t waiting_lanes(std::uint32_t port, const Tx& tx) const;
    bool may_stall(const Tx& tx) const {
        return (tx.special & tx_special::kLimited) != 0 && waits_.any_stalls();
    }
    static std::uint32_t units(TimePs at) {
        return static_cast<std::uint32_t>(at >> Lane::kUnitShift);
    }

    // engine_rare.cc
    SOFTIB_RARE bool arrive_odd(std::uint32_t in, Rx& rx, std::uint32_t index, Packet& packet);
    bool finds_room(std::uint32_t in, const Rx& rx, const Packet& packet);
    bool may_come_in(const Rx& rx, const Packet& packet);
    bool refuses(const Rx& rx, Packet& packet);
    SOFTIB_RARE void lose(std::uint32_t link, std::uint32_t index);
    SOFTIB_RARE bool offer_odd(std::uint32_t port, std::uint8_t vl, std::uint32_t index,
                               Packet& packet);
    SOFTIB_RARE bool spoil(std::uint32_t port, std::uint32_t index, Packet& packet);
    SOFTIB_RARE bool refuse_in(const Rx& rx, const Packet& packet);
    SOFTIB_RARE bool refuse_out(const Rx& rx, std::uint8_t number, const Packet& packet);
    SOFTIB_RARE std::uint8_t choose_port(const Rx& rx, const Packet& packet, std::uint8_t by_table);
    TimePs wait_at(std::uint32_t out, std::uint8_t vl);
    SOFTIB_RARE void copy_out(const Rx& rx, std::uint32_t index);
    SOFTIB_RARE void route_packet(std::uint32_t in, std::uint32_t index);
    SOFTIB_RARE void leave_buffer(const Packet& packet, TimePs at);
    SOFTIB_RARE void discard(std::uint32_t index);
    void drop(std::uint32_t index);
    SOFTIB_RARE void watch(std::uint32_t port, Tx& tx);
    SOFTIB_RARE void enforce_limits(std::uint32_t port);
    void end_wait(Tx& tx);
    SOFTIB_RARE void cross(std::uint32_t link, const Crossing& crossing) {
        border_.put(link, crossing);
    }
    SOFTIB_RARE void release_ethernet(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks,
                                      TimePs at);
    void tell_sender(std::uint32_t link, std::uint8_t vl, Ethernet::Tell tell);
    SOFTIB_RARE void handle_pause(std::uint32_t link, std::uint8_t vl, bool pauses);
    SOFTIB_RARE std::uint8_t spread_port(const Rx& rx, const Packet& packet,
                                         std::span<const std::uint8_t> ports,
                                         std::uint8_t by_table);
    // engine_ports.cc
    void apply_state(std::uint32_t port);
    void train(std::uint32_t port, TimePs takes);
    SOFTIB_RARE void end_training(std::uint32_t port, std::uint32_t training);
    void flush(std::uint32_t port);
    // round.cc
    void fetch_after(std::uint32_t bin) const;
    void fetch_switch(std::uint32_t bin) const;
    void fetch_waiting(std::uint32_t bin) const;
    bool run_outputs(std::uint32_t bin, TimePs end);
    bool collect(std::uint32_t bin);
    std::uint32_t output_of(const Rx& rx, Packet& packet) const;
    void come_in(WindowQueue::Item item, std::uint32_t link);
    void begin_walk(const Round::Outputs& outputs);
    void walk_on();
    [[gnu::flatten]] void run_output(std::uint32_t port, std::span<WindowQueue::Item> arrivals);

    Plant plant_;
    Schedule schedule_;
    Queues queues_;
    EngineStats stats_;
    Outbox outbox_;
    LookAhead ahead_;
    Round round_;
    Waits waits_;
    Cables cables_;
    Guards guards_;
    LaneCounts lane_counts_;
    Choice choice_;
    Border border_;
    std::unique_ptr<Ethernet> ethernet_;
    const Routers* routers_ = nullptr;
    const GidReader* gid_reader_ = nullptr;
};

}  // namespace softib::net
