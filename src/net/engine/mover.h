// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What happens to packets in an engine (engine.h): how they arrive, are forwarded, wait, leave and
// are lost. When a port begins to send a packet, the mover schedules the moment at which the next
// switch has looked up the packet's first bits and can send it on. A port that cannot send is woken
// when its cable is free or its credits are back; a wake is scheduled only if a packet waits.
// Nothing is allocated per hop, and no call is virtual.
//
// A switch keeps a packet in the buffer of the link by which it came until the packet's last bit
// has left, and queues it at its out port and lane (queues.h). Packets for different ports never
// wait for each other (virtual output queues).
//
// The mover has the plant and all parts. A part decides and the mover acts: no part schedules an
// event, moves a packet or knows the mover. mover.cc has what every packet does, mover_rare.cc what
// few meet. round.cc handles the events of a window switch by switch. An Engine sets a mover up and
// runs it, and PortControl (port_control.h) changes its ports while it runs; nobody else has it.

#include <cstdint>
#include <optional>
#include <span>

#include "net/engine/border.h"
#include "net/engine/cables.h"
#include "net/engine/choice.h"
#include "net/engine/ethernet.h"
#include "net/engine/guards.h"
#include "net/engine/lane_counts.h"
#include "net/engine/multicast.h"
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

class Mover {
  public:
    /// `width`: a bucket of the event queue is 2^width ps wide; 0: the mover chooses.
    Mover(const topo::Fabric& fabric, const PlantConfig& config, unsigned width);

  private:
    friend class Engine;
    friend class PortControl;

    /// Where a packet leaves a switch.
    struct Hop {
        enum class Why : std::uint8_t { kOn, kUnknown, kLooping, kNoLane };
        Why why;
        std::uint8_t vl;
        bool slower_in;  ///< The packet comes in slower than it goes out.
    };

    TimePs now() const { return schedule_.now(); }
    bool has_windows() const { return schedule_.windows().on(); }
    static std::uint32_t units(TimePs at) {
        return static_cast<std::uint32_t>(at >> Lane::kUnitShift);
    }

    // mover.cc
    void inject(std::uint32_t port, Packet packet);
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

    // mover_rare.cc
    SOFTIB_RARE bool arrive_odd(std::uint32_t in, Rx& rx, std::uint32_t index, Packet& packet);
    bool finds_room(std::uint32_t in, const Rx& rx, const Packet& packet);
    bool may_come_in(const Rx& rx, const Packet& packet);
    bool refuses(const Rx& rx, Packet& packet);
    SOFTIB_RARE void lose(std::uint32_t link, std::uint32_t index);
    SOFTIB_RARE bool offer_odd(std::uint32_t port, std::uint8_t vl, std::uint32_t index,
                               Packet& packet);
    SOFTIB_RARE bool leave_odd(std::uint32_t port, std::uint32_t index, Packet& packet);
    bool spoil(std::uint32_t port, std::uint32_t index, Packet& packet);
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

    // Ports that close and open (port_control.cc).
    void apply_state(std::uint32_t port);
    SOFTIB_RARE void end_training(std::uint32_t port, std::uint32_t training);
    void flush(std::uint32_t port);

    // round.cc
    bool run_switch(std::uint32_t bin, TimePs end);
    void end_window(TimePs end);
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
    Round round_;
    Waits waits_;
    Cables cables_;
    Guards guards_;
    LaneCounts lane_counts_;
    Choice choice_;
    Multicast multicast_;
    Border border_;
    std::optional<Ethernet> ethernet_;  ///< Empty on InfiniBand.
    const Routers* routers_ = nullptr;
    const GidReader* gid_reader_ = nullptr;
};

}  // namespace softib::net
