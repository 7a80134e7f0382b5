// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The packet engine: moves packets through a plant (plant.h) by events, one event per hop. When a
// port begins to send a packet, the engine schedules the moment at which the next switch has looked
// up the packet's first bits and can send it on. A port that cannot send is woken when its cable is
// free or its credits are back; a wake is scheduled only if a packet waits. Nothing is allocated
// per hop, and no call is virtual.
//
// A switch keeps a packet in the buffer of the link by which it came until the packet's last bit
// has left, and queues it at its out port and lane. Packets for different ports never wait for each
// other (virtual output queues). At a lane of a port the inputs take turns; packets of one input
// leave in the order they came.
//
// engine.cc has what every packet does, and engine_ahead.cc prefetches memory for it.
// engine_windows.cc and engine_outputs.cc handle the events of a window of time switch by switch.
// engine_rare.cc has multicast, limits of waiting and faults, engine_choice.cc the choice among
// ports, engine_ports.cc cables and port states. engine_counts.cc counts by lane if count_lanes()
// was called. A Network (network.h) adds the ends: HCA ports and the agents of switches.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/link/pause.h"
#include "core/switch/ethernet.h"
#include "core/switch/lifetime.h"
#include "net/engine/routers.h"
#include "net/engine/window_queue.h"
#include "net/plant/plant.h"

/// Keeps a function that few packets need out of handle(), which inlines everything else.
#define SOFTIB_RARE [[gnu::noinline, gnu::cold]]

namespace softib::net {

/// What an engine has counted since it was made.
struct EngineStats {
    std::uint64_t events = 0;
    std::uint64_t hops = 0;  ///< Packets put on a cable, or passed from a switch to its agent.
    std::uint64_t injected = 0;
    std::uint64_t copied = 0;  ///< Copies that switches made of multicast packets.
    std::uint64_t delivered = 0;
    std::uint64_t discarded = 0;  ///< Packets that switches, routers and HCAs dropped.
    std::uint64_t lost = 0;       ///< Packets lost on cables.
    std::uint64_t routed = 0;     ///< Packets that routers sent on.
    /// A hash of every arrival: when, where, what. It is a sum, so that it does not depend on the
    /// order in which events of one moment are handled.
    std::uint64_t log_hash = 0;
};

/// A record that passes between two engines that each carry a part of one fabric: a packet sent
/// over a cut cable, or credits that go back over it. It is sent as plain bytes, so both machines
/// must have the same byte order and layout.
struct Crossing {
    TimePs at = 0;  ///< When the packet arrives, or when its room in the buffer is free.
    /// Number of the link in the whole fabric; kNone: a note of the hosts (part_simulation.cc).
    std::uint32_t link = 0;
    std::uint16_t blocks = 0;  ///< Credits that go back; 0: the record is a packet.
    std::uint8_t vl = 0;
    std::uint8_t unused = 0;
    Packet packet{};
};

/// How the switches of an engine work when its links are Ethernet: there are no credits, and
/// senders may overrun buffers.
struct EthernetRules {
    /// Switches pause senders (PFC) so that nothing is lost; otherwise they drop what finds no
    /// room.
    bool lossless = true;
    /// Bytes held for one lane of one input above which the switch pauses the sender.
    std::uint32_t xoff_bytes = 65536;
    /// Bytes held at or below which the sender may go on.
    std::uint32_t xon_bytes = 49152;
    std::uint32_t buffer_bytes = 16U << 20;  ///< Buffer of a switch, for all its queues.
    /// If not lossless: the part of the free buffer that one queue may fill.
    double dynamic_threshold = 1.0;
    sw::EcnRule ecn{};
    /// How a switch chooses among the equal ports of a packet that allows it.
    enum class Spread : std::uint8_t {
        kFlows,    ///< A hash of source, destination and the flow's entropy decides (ECMP).
        kPackets,  ///< Each packet goes to the next port in turn.
        kLoad,     ///< Each packet goes to the port with the least to do.
    };
    Spread spread = Spread::kFlows;
    std::uint64_t seed = 1;  ///< Seed of hashes and of drawn ECN marks.
};

class Engine : public Plant {
  public:
    Engine(const topo::Fabric& fabric, const PlantConfig& config, unsigned width);

    TimePs now() const { return queue_.now(); }
    const EngineStats& stats() const { return stats_; }
    counters::PortCounts counts(std::uint32_t port) const { return counts_at(port, now()); }
    counters::LaneCounts lane_counts(std::uint32_t port) const { return lanes_at(port, now()); }
    std::uint64_t packets_inside() const { return packets_.live(); }
    /// Returns whether nothing will happen any more by itself.
    bool idle() const {
        // Events that only check limits of waiting find nothing where no packet is.
        const std::uint64_t pending = queue_.pending() + windows_.pending();
        return dropped_.empty() &&
               (pending == 0 || (pending == watching_ && packets_.live() == 0));
    }
    /// Frees the memory that a burst of packets took, once none is left.
    void give_back() {
        queue_.give_back();
        windows_.give_back();
        packets_.give_back();
    }
    std::size_t bytes() const { return Plant::bytes() + queue_.bytes() + windows_.bytes(); }

    /// Sends a packet from an HCA's port, out of a given port of a switch, or from a switch's agent
    /// (port 0) by the switch's tables. A port queues any number of packets; a caller that wants a
    /// limit counts those that have left. A packet whose `vl` is 15 stays on VL15; the service
    /// level of others selects the lane.
    void inject(std::uint32_t port, Packet packet);
    /// Returns the lane of a packet with this service level that starts at an HCA's port; kVl15 if
    /// the service level has no lane there.
    std::uint8_t first_lane(std::uint32_t port, std::uint8_t sl) const {
        const std::uint32_t row = tx_[port].sl_row;
        return row == kNone ? lane_of(sl) : rows_[row][sl];
    }
    /// Sets the VL arbitration table of a port, at any time: lanes that were in no list before may
    /// send now.
    void set_arbitration(std::uint32_t port, const link::ArbitrationTable& table);
    /// Sets a timer of a port: the ends are given `word` at `at`. Timers of one port and moment
    /// come in the order of their words.
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t word) {
        set_timer(port, at, word, word);
    }
    /// Sets a timer as above, but timers of one port and moment come in the order of `order`.
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t order, std::uint32_t word) {
        queue_.push(at, port, EventKind::kTimer, word, order);
    }

    // Faults. set_link(), retrain() and set_speed() act on both directions of the cable at a port;
    // the others act on one port or direction.
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
    link::PortStateMachine& state(std::uint32_t port);
    /// Sets, in parts per million of the packets that this port sends, how many are lost, how many
    /// arrive broken, and how many were broken in the sender's memory, so that only their ICRC
    /// tells.
    void set_errors(std::uint32_t port, std::uint32_t lost_ppm, std::uint32_t broken_ppm,
                    std::uint64_t seed, std::uint32_t inside_ppm = 0);
    /// Sets by how many broken packets may outnumber good ones at a port before it counts a link
    /// integrity error, see count_broken(); 0: any number.
    void set_error_limit(std::uint32_t port, std::uint8_t packets);
    /// Returns whether nothing that this port sends arrives.
    bool loses_all(std::uint32_t port) const;
    bool link_up(std::uint32_t port) const {
        return states_.empty() || states_[port].physical() == PortPhysicalState::kLinkUp;
    }
    /// Takes credits from a sender for good; returns how many blocks it had to give.
    std::uint16_t steal_credits(std::uint32_t port, std::uint8_t vl, std::uint16_t blocks);
    /// Makes an HCA take this long for each 64 bytes that came in, one packet after the other; 0:
    /// no time.
    void set_slow(std::uint32_t port, std::uint32_t block_ps);
    /// Makes an HCA handle nothing that comes in before `until`.
    void pause(std::uint32_t port, TimePs until);

    /// Makes one direction of a cable take this much longer from now on. Packets under way keep
    /// their times of arrival, so that packets sent after a smaller delay is set may overtake them.
    void set_delay(std::uint32_t port, std::uint32_t extra_ps);
    /// Sets how long both directions of a cable take for 64 bytes.
    void set_speed(std::uint32_t port, std::uint32_t block_ps);

    /// Shows packets with a tag that come in at a port to the network's ends (`tapped`), or stops
    /// doing so.
    void set_tap(std::uint32_t port, bool tapped);
    /// The P_Keys that a port of a switch lets in and out.
    struct Guard {
        bool in = false;   ///< Packets that come in are checked.
        bool out = false;  ///< Packets that go out are checked.
        std::vector<PKey> pkeys;
    };
    void set_guard(std::uint32_t port, const Guard& guard);
    Guard guard(std::uint32_t port) const { return guards_.empty() ? Guard{} : guards_[port]; }
    /// Reads the P_Key of a packet, for the guards of switches: the engine's own Packet has none.
    class KeyReader {
      public:
        virtual ~KeyReader() = default;
        virtual PKey pkey_of(const Packet& packet) const = 0;
    };
    void set_key_reader(const KeyReader* reader) { key_reader_ = reader; }

    /// Forwards packets that come to the ports of these routers by their GRH. `routers` and
    /// `reader` must outlive the engine. Not for an engine that carries a part of a fabric.
    void use_routers(const Routers* routers, const GidReader* reader);

    /// Handles the events of switches by windows (window_queue.h) from now on, if all cables take
    /// at least `window_min`: shorter windows hold too few events to pay. This changes no result as
    /// long as nothing is dropped; senders are told of losses in another order. Must be called
    /// before anything is sent. Not for Ethernet, nor where ends at switches act on each other.
    void use_windows(TimePs window_min = 400'000);

    /// Takes in all credits that have come back. Lanes tell times apart by their low bits, so a
    /// caller that lets time pass without packets must call this at least once a second. Returns
    /// false if some credits are still on the way.
    bool settle_credits();

    /// Makes all links Ethernet, for good. Must be called before anything is sent. Not for an
    /// engine that carries a part of a fabric.
    void use_ethernet(const EthernetRules& rules);
    /// Returns how much of its buffer a switch needs to lose nothing: for each input and lane, what
    /// comes before and after it tells the sender to pause. Returns 0 if there are no pauses.
    std::uint64_t pause_bytes(std::uint32_t node) const;
    /// Returns the port by which a switch sends a flow on, on Ethernet with Spread::kFlows.
    std::uint8_t hashed_route(std::uint32_t node, Lid source, Lid destination,
                              std::uint8_t entropy) const;

    // For an engine that carries a part of a fabric (partition.h).
    /// Marks the cable at a port as cut: it ends at a switch that the engine of `part` carries.
    void cut(std::uint32_t port, std::uint32_t part);
    /// Returns a time before which nothing happens here; kNever if nothing is pending.
    TimePs earliest() const { return std::min(queue_.earliest(), windows_.earliest()); }
    /// Records for the engines of other parts, by part, since the caller last cleared them.
    std::vector<std::vector<Crossing>>& crossings() { return crossings_; }
    /// Takes a record that another engine sent. `link` is the number of its link here.
    void take_crossing(std::uint32_t link, const Crossing& crossing);
    /// Fetches the memory that take_crossing() will touch.
    void fetch_crossing(std::uint32_t link, const Crossing& crossing) const;

  protected:
    [[gnu::flatten]] void handle(const Event& event);
    /// Prefetches what later events will touch; called before each event. Returns true if it did;
    /// then `coming_` lists packets that HCAs will get soon.
    bool look() {
        if (--until_look_ != 0 && !queue_.begins()) [[likely]] {
            return false;
        }
        look_ahead();
        return true;
    }

    // engine_windows.cc
    /// Goes on to the window in which `at` lies; nothing is due before `at`. Returns the last
    /// moment of the window, `until` at the latest.
    TimePs begin_window(TimePs at, TimePs until);
    /// Prefetches the memory of the switches that are handled after this one.
    void fetch_next(std::uint32_t bin) const;
    /// Handles events of switch `bin`, which is open in windows_, until `end`. Returns true if the
    /// last event has brought the switch's agent a packet (`taken_`); there may be more events.
    bool run_switch(std::uint32_t bin, TimePs end);
    /// Ends a window, when all nodes have come to `end`: gives back the credits in late_.
    void end_window(TimePs end);
    // engine_outputs.cc
    /// Handles all events of a switch until `end`, output by output. Returns false, with nothing
    /// changed, if the order of events at different outputs matters or no window ends at `end`.
    bool run_outputs(std::uint32_t bin, TimePs end);

    EventQueue queue_;
    WindowQueue windows_;
    TimePs last_event_ = 0;  ///< With windows: time of the latest event handled.
    EngineStats stats_;
    struct Left {
        std::uint32_t port;
        Packet packet;
    };
    std::vector<std::uint32_t> coming_;  ///< Packets that HCAs will get soon, see look().
    bool taken_ = false;  ///< The event has brought taken_port_ the packet taken_packet_.
    std::uint32_t taken_port_ = kNone;
    Packet taken_packet_;
    std::vector<Left> left_;  ///< Injected packets that have begun to leave since the last event.
    struct Copied {
        Packet packet;
        std::uint32_t more;
    };
    std::vector<Copied> copied_;  ///< Packets with a tag of which a switch has made `more` copies.
    struct Dropped {
        Packet packet;
        TimePs at;
    };
    std::vector<Dropped> dropped_;  ///< Packets with a tag that were dropped since the last event.
    struct Tapped {
        std::uint32_t port;
        Packet packet;
    };
    std::vector<Tapped> tapped_;  ///< Packets that came in at a tapped port.
    struct Refused {
        std::uint32_t port;
        bool inbound;
        Packet packet;
    };
    std::vector<Refused> refused_;  ///< Packets that a guard refuses and that will be dropped.

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

    /// Schedules an event of a link: kinds up to kRelease at its receiver, others at its sender.
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
    /// Returns the time that all nodes have reached: with windows, this may be before now().
    TimePs reached() const { return windows_.on() ? reached_ : now(); }

    // engine.cc
    static unsigned bucket_width(std::uint32_t ports);
    SOFTIB_RARE void handle_rare(const Event& event);
    void arrive(const Event& event);
    void take(std::uint32_t in, std::uint32_t index);
    void forward(const Rx& rx, std::uint32_t index, Packet& packet, bool fresh);
    // engine_watch.cc
    /// Returns whether a guard lets a packet pass. `enforced`: the guard checks this direction.
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
    /// Returns the lanes that have packets and are in the arbitration lists.
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
                ++stats_.events;  // Counted, though not pushed: run_output() looks at tx.wake_at.
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
    /// Handles an arrival that is out of the ordinary. Returns true if nothing is left to do for
    /// this packet.
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
    /// Hands a packet to the engine of another part. Returns false, with nothing done, if the cable
    /// at this port is not cut.
    bool send_across(std::uint32_t port, std::uint32_t index, const Packet& packet);

    // engine_ethernet.cc
    struct Ethernet {
        EthernetRules rules;
        std::vector<link::PauseRule> pause;   ///< By link.
        std::vector<link::PauseGate> gates;   ///< By lane.
        std::vector<std::uint32_t> held;      ///< By node: blocks in its buffer.
        std::vector<std::uint64_t> lined_up;  ///< By port: packets so far, so that draws differ.
    };
    bool arrive_ethernet(std::uint32_t in, const Rx& rx, const Packet& packet);
    SOFTIB_RARE void release_ethernet(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks,
                                      TimePs at);
    void tell_sender(std::uint32_t link, std::uint8_t vl, link::PauseGate::Tell tell);
    SOFTIB_RARE void handle_pause(std::uint32_t link, std::uint8_t vl, bool pauses);
    bool offer_ethernet(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet);
    std::uint8_t spread_port(const Rx& rx, const Packet& packet,
                             std::span<const std::uint8_t> ports, std::uint8_t by_table);

    // engine_counts.cc: ports that count by lane.
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
        std::uint32_t broken = 0;  ///< One more for each broken packet, one less for a good one.
        std::uint64_t packets_then = 0;  ///< Packets received when `broken` was last updated.
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
    std::vector<WindowQueue::Spot> at_receiver_;  ///< By link; empty without windows.
    std::vector<WindowQueue::Spot> at_sender_;    ///< By link; empty without windows.
    std::vector<std::uint32_t> switch_links_;     ///< Links by switch, then by rank.
    /// By switch: where its links begin in switch_links_; and one more entry for their end.
    std::vector<std::uint32_t> first_rank_;
    TimePs reached_ = 0;      ///< The time that all nodes have reached.
    std::vector<Late> late_;  ///< Credits that find no slot until the end of the window.
    // engine_outputs.cc
    struct Outputs {
        std::uint32_t first;  ///< Port 0 of the switch.
        std::uint32_t count;  ///< Ports of the switch, port 0 included.
    };
    bool collect(const Outputs& outputs, std::uint32_t bin);
    std::uint32_t output_of(const Rx& rx, Packet& packet) const;
    void come_in(WindowQueue::Item item, std::uint32_t link);
    void begin_walk(const Outputs& outputs);
    void walk_on();
    [[gnu::flatten]] void run_output(std::uint32_t port, std::span<WindowQueue::Item> arrivals);
    struct Due {
        WindowQueue::Item item;
        std::uint32_t output;  ///< Number of the port at its switch.
    };
    std::vector<Outputs> outputs_;           ///< By switch.
    std::vector<Due> due_;                   ///< Events of the switch at hand.
    std::vector<WindowQueue::Item> sorted_;  ///< Arrivals at the switch at hand, by output.
    std::array<std::uint32_t, 256> output_begins_{};  ///< By number of the port: place in sorted_.
    std::array<std::uint8_t, 256> woken_{};           ///< By number of the port: a wake is due.
    std::vector<std::uint32_t> walkers_;              ///< A packet in each queue, see begin_walk().
    std::uint32_t open_output_ = kNone;               ///< The port whose events are handled now.
    TimePs open_until_ = 0;                           ///< Last moment of the window at hand.
    TimePs open_last_ = 0;  ///< Time of the latest event of the switch at hand.

    std::uint32_t until_look_ = 1;          ///< Events until memory is fetched again.
    std::vector<Integrity> integrity_;      ///< By port; empty until needed.
    std::vector<Errors> errors_;            ///< By port; empty until needed.
    std::vector<TimePs> downed_at_;         ///< By port: when its cable last went down.
    std::vector<std::uint32_t> trainings_;  ///< By port: how many it has begun or given up.
    bool managed_ = false;                  ///< A manager moves ports on from Initialize.
    std::vector<Slow> slow_;                ///< By link to an HCA; empty until needed.
    /// By lane; empty until a packet was dropped at a head.
    std::vector<sw::StallCounter> stalls_;
    std::uint64_t watching_ = 0;  ///< Pending events that only check limits of waiting.
    std::vector<Guard> guards_;   ///< By port; empty until needed.
    /// By link: the part that has its other end, or kNone.
    std::vector<std::uint32_t> other_part_;
    std::vector<std::vector<Crossing>> crossings_;
    std::unique_ptr<Ethernet> ethernet_;
    std::vector<std::uint32_t> delays_;  ///< By port: picoseconds added to its delay_ps.
    const KeyReader* key_reader_ = nullptr;
    const Routers* routers_ = nullptr;
    const GidReader* gid_reader_ = nullptr;
};

}  // namespace softib::net
