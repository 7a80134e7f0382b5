// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packets on their way through a plant. One event per hop: when a port begins to send, the moment
// at which the next switch can send it on (its first bits have come and were looked up) is
// scheduled at once. A port that cannot send is woken when its cable is free or its credits are
// back, and a wake is scheduled only if something waits. Nothing is allocated per hop, and no call
// is virtual.
//
// A switch keeps a packet in the buffer of the link by which it came until its last bit has left,
// and lines it up at its out port and lane. Packets for different ports never wait for each other
// (virtual output queues). At a lane of a port the inputs take turns; packets of one input leave
// in the order they came.
//
// engine.cc is what every packet does, and engine_ahead.cc fetches memory for it; engine_windows.cc
// and engine_outputs.cc handle switch by switch what happens in a window of time; engine_rare.cc is
// multicast, choice among ports, limits and faults; engine_ports.cc is cables and port states;
// engine_counts.cc counts by lane where somebody asked for it. A Network decides what stands at the
// ends; the engine keeps for it the packets that began to leave.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/link/pause.h"
#include "core/switch/ethernet.h"
#include "core/switch/lifetime.h"
#include "net/plant.h"
#include "net/routers.h"
#include "net/window_queue.h"

/// Stays a call where handle() takes in all that packets mostly do.
#define SOFTIB_RARE [[gnu::noinline, gnu::cold]]

namespace softib::net {

struct EngineStats {
    std::uint64_t events = 0;
    std::uint64_t hops = 0;  ///< Packets put on a cable; a switch's way to its agent counts too.
    std::uint64_t injected = 0;
    std::uint64_t copied = 0;  ///< Made by switches, for multicast.
    std::uint64_t delivered = 0;
    std::uint64_t discarded = 0;  ///< By switches and adapters.
    std::uint64_t lost = 0;       ///< On cables.
    std::uint64_t routed = 0;     ///< Packets that routers sent on.
    /// A hash of every arrival: when, where, what. It is a sum, so that the order in which events
    /// of one moment are handled does not show.
    std::uint64_t log_hash = 0;
};

/// What passes between two engines that carry parts of one fabric: a packet that was sent over a
/// cut cable, or credits that go back over it. Plain bytes, the same on every machine of a kind.
struct Crossing {
    TimePs at = 0;             ///< When the packet arrives, or its room was free.
    std::uint32_t link = 0;    ///< Its number in the whole fabric; kNone: a note of the hosts.
    std::uint16_t blocks = 0;  ///< Credits; 0: it is a packet.
    std::uint8_t vl = 0;
    std::uint8_t unused = 0;
    Packet packet{};
};

/// How an engine's switches work when its links are Ethernet: without credits, with buffers that
/// senders may overrun.
struct EthernetRules {
    bool lossless = true;              ///< By pauses (PFC); else what finds no room is dropped.
    std::uint32_t xoff_bytes = 65536;  ///< Of one lane of one input.
    std::uint32_t xon_bytes = 49152;
    std::uint32_t buffer_bytes = 16U << 20;  ///< Of a switch, for all its queues.
    /// Lossy: a queue may have this part of the room that is free.
    double dynamic_threshold = 1.0;
    sw::EcnRule ecn{};
    /// How a switch chooses among the equal ports of a packet that allows it.
    enum class Spread : std::uint8_t {
        kFlows,    ///< By a hash of source, destination and the flow's entropy (ECMP).
        kPackets,  ///< Each packet goes to the next port.
        kLoad,     ///< To the port with the least to do.
    };
    Spread spread = Spread::kFlows;
    std::uint64_t seed = 1;
};

class Engine : public Plant {
  public:
    Engine(const topo::Fabric& fabric, const PlantConfig& config, unsigned width);

    TimePs now() const { return queue_.now(); }
    const EngineStats& stats() const { return stats_; }
    counters::PortCounts counts(std::uint32_t port) const { return counts_at(port, now()); }
    counters::LaneCounts lane_counts(std::uint32_t port) const { return lanes_at(port, now()); }
    std::uint64_t packets_inside() const { return packets_.live(); }
    /// Nothing will happen any more by itself.
    bool idle() const {
        // Events that only check limits of waiting find nothing where no packet is.
        const std::uint64_t pending = queue_.pending() + windows_.pending();
        return pending == 0 || (pending == watching_ && packets_.live() == 0);
    }
    /// Returns the memory that a burst of packets took, once none is left.
    void give_back() {
        queue_.give_back();
        windows_.give_back();
        packets_.give_back();
    }
    std::size_t bytes() const { return Plant::bytes() + queue_.bytes() + windows_.bytes(); }

    /// Sends a packet: from an HCA's port, out of a port of a switch, or from the agent of a switch
    /// (its port 0) by the switch's tables. It waits there as long as it must; a caller that limits
    /// how many wait counts those that have left. A packet whose `vl` is 15 stays on VL15; the
    /// service level of others selects the lane.
    void inject(std::uint32_t port, Packet packet);
    /// The lane of a packet with this service level that starts at an HCA's port; kVl15: there
    /// is none for it.
    std::uint8_t first_lane(std::uint32_t port, std::uint8_t sl) const {
        const std::uint32_t row = tx_[port].sl_row;
        return row == kNone ? lane_of(sl) : rows_[row][sl];
    }
    /// At any time: lanes that were in no list before may send now.
    void set_arbitration(std::uint32_t port, const link::ArbitrationTable& table);
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t what) {
        queue_.push(at, port, EventKind::kTimer, kNone, what);
    }

    /// The same with a word of the ends' own; timers of one port and moment come by `order`.
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t order, std::uint32_t word) {
        queue_.push(at, port, EventKind::kTimer, word, order);
    }

    // Faults. A link is both directions of a cable, named by either port; the rest is per
    // direction.
    /// A cable that comes back is trained for a time (PlantConfig::training_ps). Then its ports are
    /// active, or wait for a manager.
    void set_link(std::uint32_t port, bool up);
    /// Too many errors: both ports train again while what waits for the cable goes on waiting.
    void retrain(std::uint32_t port, TimePs takes);
    void set_node(std::uint32_t node, bool alive);
    /// All ports are in Initialize, and after a training too, until a manager moves them on.
    void manage_ports();
    /// One of them, which comes up again unless it is in training.
    void initialize_port(std::uint32_t port);
    /// As a manager says; false where the port's state does not allow it.
    bool set_logical(std::uint32_t port, PortState wanted);
    /// Brings a port to the state that its agent shows.
    void follow_state(std::uint32_t port, PortState shown);
    link::PortStateMachine& state(std::uint32_t port);
    /// Sets, in parts per million of the packets that this port sends, how many are lost, how many
    /// arrive broken, and how many were broken in the sender's memory, so that only their ICRC
    /// tells.
    void set_errors(std::uint32_t port, std::uint32_t lost_ppm, std::uint32_t broken_ppm,
                    std::uint64_t seed, std::uint32_t inside_ppm = 0);
    /// Broken packets beside good ones that a port bears, see count_broken; 0: any number.
    void set_error_limit(std::uint32_t port, std::uint8_t packets);
    /// Returns whether nothing that this port sends arrives.
    bool loses_all(std::uint32_t port) const;
    bool link_up(std::uint32_t port) const {
        return states_.empty() || states_[port].physical() == PortPhysicalState::kLinkUp;
    }
    /// Takes credits from a sender for good; returns how many blocks it had to give.
    std::uint16_t steal_credits(std::uint32_t port, std::uint8_t vl, std::uint16_t blocks);
    /// An HCA takes this long for 64 bytes that came in, one packet after the other; 0: no
    /// time.
    void set_slow(std::uint32_t port, std::uint32_t block_ps);
    /// An HCA looks at nothing until then.
    void pause(std::uint32_t port, TimePs until);

    /// From now on a direction of a cable takes this much longer. What is under way arrives as it
    /// was to, and may be overtaken.
    void set_delay(std::uint32_t port, std::uint32_t extra_ps);
    /// How long both directions of a cable take for 64 bytes.
    void set_speed(std::uint32_t port, std::uint32_t block_ps);

    /// Packets that come in at a port are shown to the network's ends (`tapped`).
    void set_tap(std::uint32_t port, bool tapped);
    /// Which partitions a port of a switch lets in and out.
    struct Guard {
        bool in = false;
        bool out = false;
        std::vector<PKey> pkeys;
    };
    void set_guard(std::uint32_t port, const Guard& guard);
    Guard guard(std::uint32_t port) const { return guards_.empty() ? Guard{} : guards_[port]; }
    /// Reads the P_Key of a packet, for the guards of switches; only HCAs know it.
    class KeyReader {
      public:
        virtual ~KeyReader() = default;
        virtual PKey pkey_of(const Packet& packet) const = 0;
    };
    void set_key_reader(const KeyReader* reader) { key_reader_ = reader; }

    /// Forwards what comes to the ports of these routers by its GRH. Both outlive the engine. Not
    /// of an engine that carries a part of a fabric.
    void use_routers(const Routers* routers, const GidReader* reader);

    /// From now on handles the events of switches by windows (window_queue.h), if all cables are
    /// at least so long. It changes no result as long as nothing is dropped; who sends is told of
    /// losses in another order. Before anything is sent. Not where ends at switches act on each
    /// other, nor on Ethernet.
    void use_windows(TimePs window_min = 100'000);

    /// Takes in all credits that have come back. Lanes tell times apart by their low bits, so a
    /// caller that lets time pass without packets must call this at least once a second. Returns
    /// false if some credits are still on the way.
    bool settle_credits();

    /// Makes all links Ethernet. Before anything was sent; for good; not of an engine that carries
    /// a part of a fabric.
    void use_ethernet(const EthernetRules& rules);
    /// How much of its buffer a switch needs to lose nothing: for each input and lane, what comes
    /// before and after it tells the sender to pause. 0: there are no pauses.
    std::uint64_t pause_bytes(std::uint32_t node) const;
    /// On Ethernet, where switches choose by flows: the port by which a switch sends a flow on.
    std::uint8_t hashed_route(std::uint32_t node, Lid source, Lid destination,
                              std::uint8_t entropy) const;

    // Of an engine that carries a part of a fabric (see partition.h).
    /// The cable that leaves a port here ends at a switch that the engine of another part has.
    void cut(std::uint32_t port, std::uint32_t part);
    /// The earliest time at which something may happen here; kNever if nothing is pending.
    TimePs earliest() const { return std::min(queue_.earliest(), windows_.earliest()); }
    /// What left for the engines of other parts, by part, since it was last cleared.
    std::vector<std::vector<Crossing>>& crossings() { return crossings_; }
    /// What another engine sent, at the link that has this number here.
    void take_crossing(std::uint32_t link, const Crossing& crossing);
    /// Fetches the memory that take_crossing() will touch.
    void fetch_crossing(std::uint32_t link, const Crossing& crossing) const;

  protected:
    [[gnu::flatten]] void handle(const Event& event);
    /// Before an event is handled: fetches what later ones will touch. Returns true if it did; then
    /// `coming_` are packets that HCAs will get soon.
    bool look() {
        if (--until_look_ != 0 && !queue_.begins()) [[likely]] {
            return false;
        }
        look_ahead();
        return true;
    }

    // engine_windows.cc
    /// Goes on to the window of `at`, before which nothing is due. Returns when it ends, `until` at
    /// the latest.
    TimePs begin_window(TimePs at, TimePs until);
    /// Fetches the memory of the switches after this one.
    void fetch_next(std::uint32_t bin) const;
    /// Handles events of the open switch until `end`. Returns true if the last one has brought its
    /// agent a packet (`taken_`); there may be more.
    bool run_switch(std::uint32_t bin, TimePs end);
    /// All have come to `end`.
    void end_window(TimePs end);
    // engine_outputs.cc
    /// Handles all events of a switch until `end`, output by output. Returns false, with nothing
    /// changed, if their order matters or a window does not end there.
    bool run_outputs(std::uint32_t bin, TimePs end);

    EventQueue queue_;
    WindowQueue windows_;
    TimePs last_event_ = 0;  ///< With windows: the latest one that was handled.
    EngineStats stats_;
    struct Left {
        std::uint32_t port;
        Packet packet;
    };
    std::vector<std::uint32_t> coming_;
    bool taken_ = false;  ///< The event has brought an HCA a packet:
    std::uint32_t taken_port_ = kNone;
    Packet taken_packet_;
    std::vector<Left> left_;  ///< Injected here and on their way since the last event.
    struct Copied {
        Packet packet;
        std::uint32_t more;
    };
    std::vector<Copied> copied_;  ///< Packets with a tag of which a switch has made `more` copies.
    struct Dropped {
        Packet packet;
        TimePs at;
    };
    std::vector<Dropped> dropped_;  ///< With a tag, and gone since the last event.
    struct Tapped {
        std::uint32_t port;
        Packet packet;
    };
    std::vector<Tapped> tapped_;  ///< Came in at a tapped port.
    struct Refused {
        std::uint32_t port;
        bool inbound;
        Packet packet;
    };
    std::vector<Refused> refused_;  ///< By a guard, and about to be dropped.

  private:
    struct Errors {
        std::uint32_t lost_ppm = 0;
        std::uint32_t broken_ppm = 0;
        std::uint32_t inside_ppm = 0;
        std::uint64_t seed = 0;
    };
    struct Slow {
        std::uint32_t block_ps = 0;
        TimePs busy_until = 0;
    };

    /// Schedules an event of a link: at its receiver those up to kRelease, at its sender others.
    void post(TimePs at, std::uint32_t link, EventKind kind, std::uint32_t packet = kNone,
              std::uint32_t extra = 0) {
        if (windows_.on()) {
            const WindowQueue::Spot spot =
                (kind <= EventKind::kRelease ? at_receiver_ : at_sender_)[link];
            if (spot.bin != WindowQueue::kNoBin) {
                windows_.push(at, spot, kind, packet != kNone ? packet : extra);
                return;
            }
        }
        queue_.push(at, link, kind, packet, extra);
    }
    /// What the other end of a link may know by now: with windows it may lag behind.
    TimePs reached() const { return windows_.on() ? reached_ : now(); }

    // engine.cc
    static unsigned bucket_width(std::uint32_t ports);
    SOFTIB_RARE void handle_rare(const Event& event);
    void arrive(const Event& event);
    void take(std::uint32_t in, std::uint32_t index);
    void forward(const Rx& rx, std::uint32_t index, Packet& packet, bool fresh);
    // engine_watch.cc
    /// Whether a guard lets a packet pass. `enforced`: it looks at those of this direction.
    bool lets_pass(bool enforced, const Guard& guard, const Packet& packet) const;
    SOFTIB_RARE bool refuse_in(const Rx& rx, const Packet& packet);
    SOFTIB_RARE bool refuse_out(const Rx& rx, std::uint8_t number, const Packet& packet);
    void offer(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet);
    std::uint16_t turn(std::uint32_t port, std::uint8_t vl, const Lane& to, const Packet& packet);
    void line_up(std::uint32_t port, std::uint8_t vl, Lane& to, std::uint32_t index,
                 Packet& packet);
    void wake(std::uint32_t port);
    void send_next(std::uint32_t port, Tx& tx);
    void send_head(std::uint32_t port, std::uint8_t vl, Tx& tx);
    /// Lanes with packets that the arbitration lists let send.
    std::uint16_t waiting_lanes(std::uint32_t port, const Tx& tx) const {
        return (tx.special & tx_special::kPartial) == 0
                   ? tx.waiting
                   : static_cast<std::uint16_t>(tx.waiting & tables_[table_of_[port]].lanes());
    }
    std::uint32_t pop_head(Tx& tx, std::uint8_t vl, Lane& from);
    void plan(std::uint32_t port, Tx& tx, TimePs from);
    void transmit(std::uint32_t port, std::uint8_t vl, Tx& tx, Lane& on, std::uint32_t index,
                  Packet& packet, std::uint16_t blocks);
    void wake_at(std::uint32_t port, Tx& tx, TimePs at) {
        if (at < tx.wake_at) {
            tx.wake_at = at;
            if (port == open_output_ && at <= open_until_) {
                ++stats_.events;  // Without an event, see run_output.
                open_last_ = std::max(open_last_, at);
                return;
            }
            post(at, port, EventKind::kWake);
        }
    }
    void release(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks, TimePs at);
    void log(std::uint32_t link, const Packet& packet) {
        std::uint64_t x = now() * 0x9E3779B97F4A7C15 + link;
        x ^= std::uint64_t{packet.dlid} << 48 | std::uint64_t{packet.slid} << 32 |
             std::uint64_t{packet.bytes} << 16 | std::uint64_t{packet.in_vl} << 8 |
             (packet.flags & ~std::uint64_t{packet_flag::kOnCable});
        x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
        stats_.log_hash += x ^ x >> 32;
    }
    std::uint8_t lane_of(std::uint8_t sl) const {
        return sl < config_.data_vls ? sl : static_cast<std::uint8_t>(sl % config_.data_vls);
    }
    static std::uint32_t units(TimePs at) {
        return static_cast<std::uint32_t>(at >> Lane::kUnitShift);
    }

    // engine_ahead.cc
    struct Ahead {
        std::uint32_t port = 0;
        std::uint32_t lane = 0;
    };
    void look_ahead();
    void look_at_hosts();
    const Lane& first_waiting(std::uint32_t port) const;
    Ahead ahead_of(const Event& event) const;
    void look_first(std::span<const Event> events) const;
    void look_second(std::span<const Event> events);
    void look_third(std::span<const Event> events) const;
    void look_fourth(std::span<const Event> events) const;

    // engine_rare.cc
    /// True: nothing is left to do for this packet.
    SOFTIB_RARE bool arrive_odd(std::uint32_t in, Rx& rx, std::uint32_t index, Packet& packet);
    bool refuses(const Rx& rx, Packet& packet);
    SOFTIB_RARE void count_broken(const Rx& rx);
    bool lost_with_cable(std::uint32_t in, const Rx& rx, const Packet& packet) const;
    SOFTIB_RARE void lose(std::uint32_t link, std::uint32_t index);
    SOFTIB_RARE bool offer_odd(std::uint32_t port, std::uint8_t vl, std::uint32_t index,
                               Packet& packet);
    SOFTIB_RARE bool spoil(std::uint32_t port, std::uint32_t index, Packet& packet);
    SOFTIB_RARE void copy_out(const Rx& rx, std::uint32_t index);
    SOFTIB_RARE void leave_buffer(const Packet& packet, TimePs at);
    SOFTIB_RARE void discard(std::uint32_t index);
    void drop(std::uint32_t index);
    SOFTIB_RARE void watch(std::uint32_t port, Tx& tx);
    SOFTIB_RARE void enforce_limits(std::uint32_t port);
    TimePs deadline(const Lane& lane, const sw::WaitingLimits& limits, bool& of_head) const;
    void end_wait(Tx& tx);
    // engine_choice.cc
    SOFTIB_RARE std::uint8_t choose_port(const Rx& rx, const Packet& packet, std::uint8_t by_table);
    TimePs wait_at(std::uint32_t out, std::uint8_t vl);
    // engine_router.cc
    SOFTIB_RARE void route_packet(std::uint32_t in, std::uint32_t index);
    // engine_ports.cc
    void apply_state(std::uint32_t port);
    bool may_come_in(const Rx& rx, const Packet& packet);
    void train(std::uint32_t port, TimePs takes);
    SOFTIB_RARE void end_training(std::uint32_t port, std::uint32_t training);
    void flush(std::uint32_t port);
    sw::StallCounter& stall(std::uint32_t port, std::uint8_t vl);
    bool may_stall(const Tx& tx) const {
        return (tx.special & tx_special::kLimited) != 0 && !stalls_.empty();
    }

    // engine_parts.cc
    bool crosses(std::uint32_t port) const {
        return !other_part_.empty() && other_part_[port] != kNone;
    }
    SOFTIB_RARE void cross(std::uint32_t link, const Crossing& crossing) {
        crossings_[other_part_[link]].push_back(crossing);
    }
    /// True: the packet has gone to another engine.
    bool send_across(std::uint32_t port, std::uint32_t index, const Packet& packet);

    // engine_ethernet.cc
    struct Ethernet {
        EthernetRules rules;
        std::vector<link::PauseRule> pause;   ///< By link.
        std::vector<link::PauseGate> gates;   ///< By lane.
        std::vector<std::uint32_t> held;      ///< By node: blocks in its buffer.
        std::vector<std::uint64_t> lined_up;  ///< By port: packets, so that draws differ.
    };
    bool arrive_ethernet(std::uint32_t in, const Rx& rx, const Packet& packet);
    SOFTIB_RARE void release_ethernet(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks,
                                      TimePs at);
    void tell_sender(std::uint32_t link, std::uint8_t vl, link::PauseGate::Tell tell);
    SOFTIB_RARE void handle_pause(std::uint32_t link, std::uint8_t vl, bool pauses);
    bool offer_ethernet(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet);
    std::uint8_t spread_port(const Rx& rx, const Packet& packet,
                             std::span<const std::uint8_t> ports, std::uint8_t by_table);

    // engine_counts.cc: of ports that count by lane.
    void count_sent(std::uint32_t port, const Packet& packet);
    void count_received(const Rx& rx, const Packet& packet);
    SOFTIB_RARE void count_pop(Tx& tx, const Lane& from);
    void count_congested(std::uint32_t port, std::uint8_t vl);
    void count_late(std::uint32_t port, std::uint8_t vl) {
        if (!waits_.empty()) {
            ++waits_[lane_index(port, vl)].discards;
        }
    }

    struct Integrity {
        std::uint8_t limit = 0;
        std::uint32_t broken = 0;  ///< One more for each broken packet, one less for a good one,
        std::uint64_t packets_then = 0;  ///< up to this one.
    };
    // engine_windows.cc
    void fetch_switch(std::uint32_t bin) const;
    void fetch_waiting(std::uint32_t bin) const;
    struct Late {
        TimePs at;
        std::uint32_t link;
        std::uint16_t blocks;
        std::uint8_t vl;
    };
    std::vector<WindowQueue::Spot> at_receiver_;  ///< By link; empty without windows, as these:
    std::vector<WindowQueue::Spot> at_sender_;    ///< By link.
    std::vector<std::uint32_t> switch_links_;     ///< By switch, then by rank.
    std::vector<std::uint32_t> first_rank_;       ///< By switch, and one more: into switch_links_.
    TimePs reached_ = 0;                          ///< All nodes have come to this time.
    std::vector<Late> late_;  ///< Credits that find no slot until the end of the window.
    // engine_outputs.cc
    struct Outputs {
        std::uint32_t first;  ///< Port 0 of a switch,
        std::uint32_t count;  ///< and how many it has with that.
    };
    bool collect(const Outputs& outputs, std::uint32_t bin);
    std::uint32_t output_of(const Rx& rx, Packet& packet) const;
    void come_in(WindowQueue::Item item, std::uint32_t link);
    void begin_walk(const Outputs& outputs);
    void walk_on();
    [[gnu::flatten]] void run_output(std::uint32_t port, std::span<WindowQueue::Item> arrivals);
    struct Due {
        WindowQueue::Item item;
        std::uint32_t output;  ///< Number of the port.
    };
    std::vector<Outputs> outputs_;                    ///< By switch.
    std::vector<Due> due_;                            ///< Events of the switch at hand.
    std::vector<WindowQueue::Item> sorted_;           ///< Its arrivals by output.
    std::array<std::uint32_t, 256> output_begins_{};  ///< In sorted_, by number of the port.
    std::array<std::uint8_t, 256> woken_{};           ///< The same: whether a wake is due.
    std::vector<std::uint32_t> walkers_;              ///< Packets in the queues of its outputs.
    std::uint32_t open_output_ = kNone;               ///< The port whose events are handled,
    TimePs open_until_ = 0;                           ///< until then,
    TimePs open_last_ = 0;                            ///< and the last of its switch's events.

    std::uint32_t until_look_ = 1;          ///< Events until memory is fetched again.
    std::vector<Integrity> integrity_;      ///< By port; empty until needed, as all below.
    std::vector<Errors> errors_;            ///< By port.
    std::vector<TimePs> downed_at_;         ///< By port: when its cable last went down.
    std::vector<std::uint32_t> trainings_;  ///< By port: how many it has begun or given up.
    bool managed_ = false;
    std::vector<Slow> slow_;                 ///< By port of an HCA.
    std::vector<sw::StallCounter> stalls_;   ///< By lane; empty until one was dropped at a head.
    std::uint64_t watching_ = 0;             ///< Events that look at limits of waiting.
    std::vector<Guard> guards_;              ///< By port.
    std::vector<std::uint32_t> other_part_;  ///< By link: who has its other end; kNone: it is here.
    std::vector<std::vector<Crossing>> crossings_;
    std::unique_ptr<Ethernet> ethernet_;
    std::vector<std::uint32_t> delays_;  ///< By port: what was added to its delay_ps.
    const KeyReader* key_reader_ = nullptr;
    const Routers* routers_ = nullptr;
    const GidReader* gid_reader_ = nullptr;
};

}  // namespace softib::net
