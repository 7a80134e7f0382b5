// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The cables, buffers and tables of a fabric in virtual time: everything that packets run over, in
// the layout in which they run fastest. A Network moves packets over it, checkers and counters look
// at it, the harness builds and changes it.
//
// Ports are numbered through; the number of a port is also the number of the link that leaves it.
// `Tx` is the sender's end of a link, `Rx` the receiver's, and there is a Lane per virtual lane for
// both: credits cost nothing because the two ends share that record, see lane.h.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/counters/lane_counts.h"
#include "core/counters/port_counters.h"
#include "core/link/arbiter.h"
#include "core/link/port_state.h"
#include "core/link/rate.h"
#include "core/switch/adaptive_table.h"
#include "core/switch/congestion.h"
#include "core/switch/forward.h"
#include "core/switch/lifetime.h"
#include "core/topo/fabric.h"
#include "net/event_queue.h"
#include "net/lane.h"
#include "net/packet.h"
#include "net/pages.h"

namespace softib::net {

using sw::kNoPath;

/// What all links and nodes have in common. Defaults are NDR with short cables; latency.h has
/// figures.
struct PlantConfig {
    std::uint8_t data_vls = 2;           ///< 1 to 15; and VL15.
    std::uint32_t buffer_bytes = 65536;  ///< Per lane at a receiver; at most 128 KiB.
    TimePs cable_ps = 25'000;            ///< Delay of every cable: 5 m.
    TimePs switch_ps = 0;    ///< First bit in to first bit out; 0: by generation, see latency.h.
    TimePs hca_ps = 0;       ///< Last bit in until its HCA handles a packet.
    TimePs training_ps = 0;  ///< Time that a cable trains when it has come back.
    std::uint16_t packet_bytes_max = 4224;
    // Limits of waiting at switches, until a manager writes others (core/switch/lifetime.h).
    std::uint8_t lifetime = 20;        ///< SwitchInfo.LifeTimeValue; above 19: for ever.
    std::uint8_t hoq_life = 20;        ///< PortInfo.HOQLife of switches' ports; the same codes.
    std::uint8_t vl_stall_count = 0;   ///< PortInfo.VLStallCount; 0: lanes never stall.
    std::uint16_t multicast_lids = 0;  ///< Groups that switches have room for, from 0xC000 on.
    std::uint16_t lid_max = 0;         ///< 0: one for every node.
};

/// What is out of the ordinary at a sender. All zero: the quick way.
namespace tx_special {
inline constexpr std::uint8_t kClosed = 1U << 0;  ///< Does not send data: not active.
inline constexpr std::uint8_t kFaulty =
    1U << 1;  ///< Loses or breaks packets, was cut, or is Ethernet.
inline constexpr std::uint8_t kLimited = 1U << 2;  ///< Packets wait no longer than a limit.
inline constexpr std::uint8_t kWatched = 1U << 3;  ///< An event will look at the limit.
inline constexpr std::uint8_t kMarks = 1U << 4;  ///< Marks packets when congested, or is Ethernet.
inline constexpr std::uint8_t kDown = 1U << 5;   ///< Sends nothing at all.
inline constexpr std::uint8_t kPartial = 1U << 6;  ///< Not every lane is in its arbitration lists.
inline constexpr std::uint8_t kCounted = 1U << 7;  ///< Counts by lane and service level.
}  // namespace tx_special

/// The same at a receiver.
namespace rx_special {
inline constexpr std::uint8_t kAdaptive = 1U << 0;     ///< The switch may choose among ports.
inline constexpr std::uint8_t kFlapped = 1U << 1;      ///< The cable is or was down.
inline constexpr std::uint8_t kSlow = 1U << 2;         ///< A slow HCA.
inline constexpr std::uint8_t kCounted = 1U << 3;      ///< Counts by service level.
inline constexpr std::uint8_t kGuarded = 1U << 4;      ///< Not active: not everything comes in.
inline constexpr std::uint8_t kTapped = 1U << 5;       ///< Packets that come in are shown to a tap.
inline constexpr std::uint8_t kPartitioned = 1U << 6;  ///< The switch looks at partitions.
inline constexpr std::uint8_t kEthernet = 1U << 7;     ///< Its buffers are those of Ethernet.
}  // namespace rx_special

/// The sender's end of a link.
struct alignas(64) Tx {
    TimePs free_at = 0;          ///< Sends a packet until then.
    TimePs wake_at = kNever;     ///< The wake event that counts.
    TimePs blocked_at = kNever;  ///< Has packets but cannot send any, since then.
    TimePs wait_ps = 0;          ///< Sum of such times.
    std::uint64_t words = 0;
    std::uint64_t packets = 0;
    std::uint32_t block_ps = 0;    ///< For 64 bytes.
    std::uint32_t delay_ps = 0;    ///< From the first bit sent until the other end can act on it.
    std::uint16_t waiting = 0;     ///< Bit n: lane n has packets.
    std::uint8_t to_adapter = 0;   ///< The other end takes packets whole.
    std::uint8_t special = 0;      ///< Bits of tx_special.
    std::uint32_t sl_row = kNone;  ///< For packets that start here; kNone: VL = SL.
};
static_assert(sizeof(Tx) == 64);

inline constexpr std::uint8_t kToRouter = 2;

/// The receiver's end of a link.
struct alignas(64) Rx {
    std::uint64_t words = 0;
    std::uint64_t packets = 0;
    std::uint64_t lft = 0;          ///< Where the switch's forwarding table begins.
    std::uint32_t first_out = 0;    ///< The switch's port 0, or the HCA's port.
    std::uint32_t sl_rows = kNone;  ///< Into sl_rows_ by out port; kNone: VL = SL.
    std::uint32_t node = kNone;
    std::uint32_t self = kNone;    ///< The port here.
    std::uint32_t silicon_ps = 0;  ///< From the first or last bit in until it can act.
    std::uint32_t block_ps = 0;    ///< For 64 bytes.
    std::uint32_t name = 0;        ///< Number of the link in the whole fabric, see name_link().
    std::uint8_t port = 0;         ///< Number of the port on its node.
    std::uint8_t to_adapter = 0;   ///< Takes packets whole; kToRouter: and sends them on.
    std::uint8_t special = 0;      ///< Bits of rx_special.
};
static_assert(sizeof(Rx) == 64);

/// Rare counts of a port: all of its counters but those that every packet moves, by cause. Of the
/// sums rcv_errors, rcv_switch_relay_errors and xmit_discards only the parts are counted here.
struct Odd : counters::PortCounts {
    // No counter of a real port has these.
    std::uint64_t not_ready = 0;           ///< Data that came to a port in Initialize.
    std::uint64_t marked = 0;              ///< With FECN.
    std::uint64_t lost = 0;                ///< On the cable behind this port: for checkers.
    std::uint64_t overflows = 0;           ///< On Ethernet: packets for which there was no room.
    std::uint64_t pauses = 0;              ///< On Ethernet: pause frames sent.
    std::uint64_t unrouted = 0;            ///< At a router: no GRH, or nowhere to send it.
    std::uint64_t hop_limit_discards = 0;  ///< At a router: HopLmt was used up.
    std::uint64_t lost_words = 0;

    std::uint64_t all_rcv_errors() const { return local_physical_errors + malformed_packet_errors; }
    std::uint64_t all_relay_errors() const {
        return dlid_mapping_errors + vl_mapping_errors + looping_errors;
    }
    std::uint64_t all_discards() const {
        return inactive_discards + lifetime_discards + hoq_lifetime_discards;
    }
};

/// Counts of a port for one service level.
struct LevelCounts {
    std::uint64_t xmit_words = 0;
    std::uint64_t rcv_words = 0;
    std::uint64_t rcv_fecn = 0;
    std::uint64_t rcv_becn = 0;
};

/// How long something has been so, all in all.
struct Lasting {
    TimePs since = kNever;  ///< kNever: it is not so now.
    TimePs before_ps = 0;

    void begin(TimePs now) { since = now; }
    void end(TimePs now) {
        before_ps += now - since;
        since = kNever;
    }
    bool now_so() const { return since != kNever; }
    TimePs total(TimePs now) const { return before_ps + (since < now ? now - since : 0); }
};

/// Waiting at a lane's sender.
struct LaneWaits {
    TimePs busy_until = 0;       ///< The cable carries a packet of this lane.
    TimePs wait_ps = 0;          ///< Had something to send and did not.
    Lasting congested;           ///< More waits than its threshold allows.
    std::uint64_t discards = 0;  ///< Packets dropped because they had waited too long.
};

class Plant {
    friend class Inspector;  ///< Reads all, changes nothing.

  public:
    Plant(const topo::Fabric& fabric, const PlantConfig& config);

    const PlantConfig& config() const { return config_; }
    std::uint32_t port_count() const { return port_count_; }
    std::uint32_t node_count() const { return static_cast<std::uint32_t>(first_port_.size()); }
    std::uint32_t port_of(std::uint32_t node, std::uint8_t port) const {
        return first_port_[node] + port;
    }
    std::uint32_t node_of(std::uint32_t port) const { return rx_[peer_[port]].node; }
    std::uint8_t number_of(std::uint32_t port) const { return rx_[peer_[port]].port; }
    std::uint32_t peer(std::uint32_t port) const { return peer_[port]; }
    std::uint32_t lid_count() const { return lft_stride_; }  ///< That switches have room for.
    /// How long the cable at a port takes in one direction.
    TimePs cable(std::uint32_t port) const { return lane(port, 0).cable_ps(); }
    bool connected(std::uint32_t port) const { return peer_[port] != kNone; }
    TimePs transmit_time(std::uint32_t port, std::uint32_t packet_bytes) const {
        return link::transmit_time(packet_bytes, tx_[port].block_ps);
    }
    std::string name(std::uint32_t port) const;
    std::uint8_t ports_of(std::uint32_t node) const { return ports_of_[node]; }  ///< With port 0.
    std::uint16_t buffer_blocks() const {
        return static_cast<std::uint16_t>(config_.buffer_bytes / link::kBlockBytes);
    }
    bool is_switch(std::uint32_t node) const { return is_switch_[node] != 0; }

    /// Numbers a link as it is numbered in a larger fabric of which this plant is a part. Logs and
    /// drawn errors go by this number, so that they do not depend on how a fabric was cut.
    void name_link(std::uint32_t link, std::uint32_t name) { rx_[link].name = name; }
    std::uint32_t name_of(std::uint32_t link) const { return rx_[link].name; }
    std::uint32_t link_name(std::uint32_t link) const { return rx_[link].name; }

    void set_route(std::uint32_t node, Lid lid, std::uint8_t port);
    std::uint8_t route(std::uint32_t node, Lid lid) const {
        return lfts_[std::size_t{lft_of_[node]} * lft_stride_ + lid.value];
    }
    /// By service level; a lane that there is not: such packets are dropped.
    void set_lanes(std::uint32_t node, std::uint8_t in, std::uint8_t out,
                   const std::array<std::uint8_t, 16>& wanted);
    /// Returns the lane, in a switch, of packets that come in at `in` and leave at `out`.
    std::uint8_t mapped_lane(std::uint32_t node, std::uint8_t in, std::uint8_t out,
                             std::uint8_t sl) const;
    void set_arbitration(std::uint32_t port, const link::ArbitrationTable& table);
    const link::ArbitrationTable& arbitration(std::uint32_t port) const {
        return tables_[table_of_[port]];
    }

    /// How long both directions of a cable take: link::kPsPerMetre times its length. Before
    /// anything was sent on it.
    void set_cable(std::uint32_t port, TimePs cable_ps);
    /// Ports of a switch (bit n: port n) to which it sends copies of packets to a multicast LID.
    void set_multicast(std::uint32_t node, Lid mlid, const std::array<std::uint64_t, 4>& ports);
    std::array<std::uint64_t, 4> multicast(std::uint32_t node, Lid mlid) const;
    /// A switch may send packets that allow it (packet_flag::kAdaptive) by any port of a group.
    void set_adaptive(std::uint32_t node, sw::AdaptiveTable table);
    sw::AdaptiveTable adaptive(std::uint32_t node) const {
        return adaptive_.empty() ? sw::AdaptiveTable{} : adaptive_[lft_of_[node]];
    }
    /// The ports among which a switch may choose for a LID; empty: it may not.
    std::span<const std::uint8_t> choices(std::uint32_t node, Lid lid) const {
        return adaptive_.empty() ? std::span<const std::uint8_t>()
                                 : adaptive_[lft_of_[node]].ports(lid.value);
    }
    /// When the ports of a switch mark packets; threshold 0: never.
    void set_marking(std::uint32_t node, const sw::MarkingRule& rule);
    void set_port_marking(std::uint32_t port, const sw::MarkingRule& rule);
    sw::MarkingRule marking(std::uint32_t port) const {
        return marking_.empty() ? sw::MarkingRule{} : marking_[port];
    }
    /// How long packets wait at a switch's port.
    void set_limits(std::uint32_t port, const sw::WaitingLimits& limits);
    const sw::WaitingLimits& limits(std::uint32_t port) const { return limits_[limits_of_[port]]; }

    // How busy a port is, for those who look at all of them now and then.
    bool has_waiting(std::uint32_t port) const { return tx_[port].waiting != 0; }
    bool lacks_credits(std::uint32_t port, TimePs now) const { return tx_[port].blocked_at <= now; }
    /// What a port has sent, and how long it had no credits for what it had to send.
    struct Traffic {
        std::uint64_t bytes = 0;
        std::uint64_t packets = 0;
        TimePs wait_ps = 0;
    };
    Traffic traffic(std::uint32_t port, TimePs now) const {
        const Tx& tx = tx_[port];
        return {tx.words * 4, tx.packets,
                tx.wait_ps + (tx.blocked_at < now ? now - tx.blocked_at : 0)};
    }

    /// From now on counts_at() and lanes_at() know more; it costs every hop some time.
    void count_lanes();

    /// What is rare, by cause.
    Odd odd_counts(std::uint32_t port) const { return odd_.empty() ? Odd{} : odd_[port]; }
    /// As the node's performance agent reads it at some time.
    counters::PortCounts counts_at(std::uint32_t port, TimePs now) const;
    counters::LaneCounts lanes_at(std::uint32_t port, TimePs now) const;

    std::size_t bytes() const;

  protected:
    std::uint32_t lane_index(std::uint32_t link, std::uint8_t vl) const {
        return (vl == link::kVl15 ? config_.data_vls : vl) * port_count() + link;
    }
    Lane& lane(std::uint32_t link, std::uint8_t vl) { return lanes_[lane_index(link, vl)]; }
    const Lane& lane(std::uint32_t link, std::uint8_t vl) const {
        return lanes_[lane_index(link, vl)];
    }
    /// How long a lane that has packets has waited by `now` since it last sent.
    static TimePs waiting_since(const Lane& lane, const LaneWaits& waits, TimePs now) {
        const auto units = static_cast<std::uint32_t>(now >> Lane::kUnitShift);
        const TimePs at_head = TimePs{units - lane.head_since_units} << Lane::kUnitShift;
        const TimePs idle = now > waits.busy_until ? now - waits.busy_until : 0;
        return std::min(at_head, idle);
    }
    /// Blocks that wait in events of kind kRelease.
    [[gnu::noinline, gnu::cold]] std::uint32_t& deferred(std::uint32_t link, std::uint8_t vl) {
        if (deferred_.empty()) {
            deferred_.resize(lanes_.size());
        }
        return deferred_[lane_index(link, vl)];
    }
    [[gnu::noinline, gnu::cold]] Odd& odd(std::uint32_t port) {
        if (odd_.empty()) {
            odd_.resize(port_count());
        }
        return odd_[port];
    }

    PlantConfig config_;
    std::uint32_t port_count_ = 0;
    Table<Tx> tx_;
    Table<Rx> rx_;
    Table<Lane> lanes_;  ///< By lane, then by link: the used ones stand together.
    // How inputs take turns, see Engine::turn.
    static constexpr std::uint16_t kRound = 8;
    static constexpr std::uint32_t kRoundBytes = 4096;
    static constexpr std::uint32_t kRoundsOpen = 32;  ///< In one queue.
    Table<std::uint16_t> turns_at_;  ///< By lane, then by port that packets came by: its next turn.
    std::size_t turns_stride_ = 0;
    Table<std::uint32_t> round_ends_;  ///< By lane: the last packet of each round in its queue.
    Table<std::uint8_t> lfts_;
    std::vector<link::Arbiter> arbiters_;
    std::vector<std::uint16_t> table_of_;  ///< By port: its arbitration table.
    std::vector<link::ArbitrationTable> tables_;
    std::vector<std::uint16_t> sl_rows_;
    std::vector<std::array<std::uint8_t, 16>> rows_;
    std::vector<link::PortStateMachine> states_;  ///< By port; empty: all have always been active.
    std::vector<Odd> odd_;                        ///< By port; empty until something odd happens.
    std::vector<std::uint32_t> deferred_;         ///< By lane; empty until needed.
    PacketPool packets_;
    std::uint32_t lft_stride_ = 0;
    std::vector<std::array<std::uint64_t, 4>> mfts_;  ///< By switch, then by group.
    std::vector<sw::AdaptiveTable> adaptive_;         ///< By switch; empty: none chooses.
    std::vector<std::uint32_t> turns_;                ///< By switch: where to begin among equals.
    std::vector<sw::MarkingRule> marking_;            ///< By port; empty: nobody marks.
    std::vector<sw::WaitingLimits> limits_;           ///< The different ones that there are,
    std::vector<std::uint16_t> limits_of_;            ///< and which one a port has.
    std::vector<sw::Marker> markers_;
    std::vector<LevelCounts> levels_;             ///< By port, 16 each; empty: not counted.
    std::vector<LaneWaits> waits_;                ///< By lane; the same.
    std::vector<std::uint16_t> congested_lanes_;  ///< By port, a bit each.
    std::vector<Lasting> congested_;              ///< By port: one of its lanes is.

  private:
    TimePs tick_ps(std::uint32_t port) const;
    void join(const topo::Fabric& fabric, std::uint32_t node, std::uint8_t number);
    void set_length(std::uint32_t link, TimePs cable_ps);

    std::vector<std::uint32_t> first_port_;  ///< By node: its port 0.
    std::vector<std::uint32_t> peer_;
    std::vector<std::uint32_t> lft_of_;
    std::vector<std::uint8_t> is_switch_;
    std::vector<std::uint8_t> ports_of_;
    std::vector<std::string> names_;
};

}  // namespace softib::net
