// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The cables, buffers and tables of a fabric in virtual time: everything that packets run over, in
// the layout in which they run fastest. A Network moves packets over the plant; checkers and
// counters read it.
//
// All ports of the fabric are numbered in one row; the number of a port is also the number of the
// link that leaves it. `Tx` is the sender's end of a link, `Rx` the receiver's. The two ends share
// a Lane per virtual lane, so that credits cost nothing, see lane.h.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/counters/port_counters.h"
#include "core/link/arbiter.h"
#include "core/link/rate.h"
#include "core/switch/adaptive_table.h"
#include "core/switch/congestion.h"
#include "core/switch/forward.h"
#include "core/topo/graph.h"
#include "net/plant/fetch.h"
#include "net/plant/lane.h"
#include "net/plant/pages.h"
#include "net/plant/plant_config.h"
#include "net/plant/units.h"

namespace softib::net {

using sw::kNoPath;

/// Bits of Tx::special: what is out of the ordinary at a sender. Without any of them a packet takes
/// the quick way. Those that every packet is tested for lie in one byte.
namespace tx_special {
inline constexpr std::uint16_t kClosed = 1U << 0;   ///< Sends no data: the port is not active.
inline constexpr std::uint16_t kFaulty = 1U << 1;   ///< Loses or breaks packets.
inline constexpr std::uint16_t kCrosses = 1U << 2;  ///< Its cable leads to another part's switch.
inline constexpr std::uint16_t kEthernet = 1U << 3;
inline constexpr std::uint16_t kMarks = 1U << 4;    ///< Marks packets when congested.
inline constexpr std::uint16_t kLimited = 1U << 5;  ///< Packets may wait no longer than a limit.
inline constexpr std::uint16_t kPartial = 1U << 6;  ///< Not every lane is in its arbitration lists.
inline constexpr std::uint16_t kCounted = 1U << 7;  ///< Counts by lane and service level.
inline constexpr std::uint16_t kDown = 1U << 8;     ///< Sends nothing at all.
inline constexpr std::uint16_t kWatched = 1U << 9;  ///< An event that checks the limit is pending.
}  // namespace tx_special

/// Bits of Rx::special: what is out of the ordinary at a receiver.
namespace rx_special {
inline constexpr std::uint8_t kAdaptive = 1U << 0;  ///< The switch may choose among ports.
inline constexpr std::uint8_t kFlapped = 1U << 1;   ///< The cable is or was down.
inline constexpr std::uint8_t kSlow = 1U << 2;      ///< The HCA is slow or paused.
inline constexpr std::uint8_t kCounted = 1U << 3;   ///< Counts by service level.
/// The port is not active: it refuses some packets.
inline constexpr std::uint8_t kGuarded = 1U << 4;
inline constexpr std::uint8_t kTapped = 1U << 5;       ///< Packets that come in are shown to a tap.
inline constexpr std::uint8_t kPartitioned = 1U << 6;  ///< The switch checks P_Keys.
inline constexpr std::uint8_t kEthernet = 1U << 7;  ///< The link is Ethernet and ends at a switch.
}  // namespace rx_special

/// Sets or clears a bit of Tx::special or Rx::special.
template <typename Flags>
void set_flag(Flags& flags, Flags flag, bool on) {
    flags = static_cast<Flags>(on ? flags | flag : flags & ~flag);
}

inline constexpr std::uint16_t kNoRow = UINT16_MAX;

/// The sender's end of a link.
struct alignas(64) Tx {
    TimePs free_at = 0;          ///< When the packet that is being sent will have left.
    TimePs wake_at = kNever;     ///< Time of the wake event that counts.
    TimePs blocked_at = kNever;  ///< Since when it has packets but cannot send any.
    TimePs wait_ps = 0;          ///< Sum of such times that are over.
    std::uint64_t words = 0;
    std::uint64_t packets = 0;
    std::uint32_t block_ps = 0;     ///< Time for 64 bytes.
    std::uint32_t delay_ps = 0;     ///< Time from the first bit sent until the other end can act.
    std::uint16_t waiting = 0;      ///< Bit n: lane n has packets.
    std::uint16_t special = 0;      ///< Bits of tx_special.
    std::uint16_t sl_row = kNoRow;  ///< SL2VL row of packets that start here; kNoRow: lane_of(SL).
    std::uint8_t to_adapter = 0;    ///< The other end acts only when it has a packet whole.
};
static_assert(sizeof(Tx) == 64);

/// Value of Rx::to_adapter at a router's port.
inline constexpr std::uint8_t kToRouter = 2;

/// The receiver's end of a link.
struct alignas(64) Rx {
    std::uint64_t words = 0;
    std::uint64_t packets = 0;
    std::uint64_t lft = 0;          ///< Where the switch's forwarding table begins in lfts_.
    std::uint32_t first_out = 0;    ///< The switch's port 0, or the HCA's port.
    std::uint32_t sl_rows = kNone;  ///< Place in sl_rows_ of out port 0; kNone: lane_of(SL).
    std::uint32_t node = kNone;
    std::uint32_t self = kNone;    ///< Number of the port at this end.
    std::uint32_t silicon_ps = 0;  ///< Time from the first bit in, or the last, until it can act.
    std::uint32_t block_ps = 0;    ///< Time for 64 bytes.
    std::uint32_t name = 0;        ///< Number of the link in the whole fabric, see name_link().
    std::uint8_t port = 0;         ///< Number of the port on its node.
    std::uint8_t to_adapter = 0;   ///< Not 0: acts on whole packets. kToRouter: sends them on.
    std::uint8_t special = 0;      ///< Bits of rx_special.
};
static_assert(sizeof(Rx) == 64);

/// Rare counts of a port, by cause: all its counters except those that every packet changes. The
/// sums rcv_errors, rcv_switch_relay_errors and xmit_discards stay 0; only their parts are counted.
struct Odd : counters::PortCounts {
    // Counts that a real port does not have:
    std::uint64_t not_ready = 0;  ///< Packets that a port refused because it was not active.
    std::uint64_t marked = 0;     ///< Packets marked with FECN.
    std::uint64_t lost = 0;       ///< Packets lost on the cable behind this port; for checkers.
    std::uint64_t overflows = 0;  ///< On Ethernet: packets for which there was no room.
    std::uint64_t pauses = 0;     ///< On Ethernet: pause frames sent.
    std::uint64_t unrouted = 0;   ///< At a router: packets without GRH, or with no way on.
    std::uint64_t hop_limit_discards = 0;  ///< At a router: packets whose HopLmt was used up.
    std::uint64_t lost_words = 0;

    std::uint64_t all_rcv_errors() const { return local_physical_errors + malformed_packet_errors; }
    std::uint64_t all_relay_errors() const {
        return dlid_mapping_errors + vl_mapping_errors + looping_errors;
    }
    std::uint64_t all_discards() const {
        return inactive_discards + lifetime_discards + hoq_lifetime_discards;
    }
};

class Plant {
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
    std::uint32_t lid_count() const { return lft_stride_; }  ///< LIDs that tables have room for.
    /// Returns how long the cable at a port takes in one direction.
    TimePs cable(std::uint32_t port) const { return lane(port, 0).cable_ps(); }
    /// Returns the time from the first bit that a port sends until the other end can act on it.
    TimePs delay(std::uint32_t port) const { return tx_[port].delay_ps; }
    bool connected(std::uint32_t port) const { return peer_[port] != kNone; }
    TimePs transmit_time(std::uint32_t port, std::uint32_t packet_bytes) const {
        return link::transmit_time(packet_bytes, tx_[port].block_ps);
    }
    std::string name(std::uint32_t port) const;
    /// Returns the number of a node's ports, counting port 0.
    std::uint8_t ports_of(std::uint32_t node) const { return ports_of_[node]; }
    std::uint16_t buffer_blocks() const {
        return static_cast<std::uint16_t>(config_.buffer_bytes / link::kBlockBytes);
    }
    bool is_switch(std::uint32_t node) const { return is_switch_[node] != 0; }
    std::uint32_t switch_count() const { return switch_count_; }

    /// Numbers a link as it is numbered in a larger fabric of which this plant is a part. Logs and
    /// drawn errors go by this number, so that they do not depend on how a fabric was cut.
    void name_link(std::uint32_t link, std::uint32_t name) { rx_[link].name = name; }
    std::uint32_t name_of(std::uint32_t link) const { return rx_[link].name; }

    void set_route(std::uint32_t node, Lid lid, std::uint8_t port);
    std::uint8_t route(std::uint32_t node, Lid lid) const {
        return lfts_[std::size_t{lft_of_[node]} * lft_stride_ + lid.value];
    }
    /// Sets the lanes, by service level, of packets that come into a switch at `in` and leave at
    /// `out`, or that start at an HCA. Packets for a lane that does not exist are dropped.
    void set_lanes(std::uint32_t node, std::uint8_t in, std::uint8_t out,
                   const std::array<std::uint8_t, 16>& wanted);
    /// Returns the lane, in a switch, of packets that come in at `in` and leave at `out`.
    std::uint8_t mapped_lane(std::uint32_t node, std::uint8_t in, std::uint8_t out,
                             std::uint8_t sl) const;
    void set_arbitration(std::uint32_t port, const link::ArbitrationTable& table);
    const link::ArbitrationTable& arbitration(std::uint32_t port) const {
        return tables_[table_of_[port]];
    }

    /// Sets how long both directions of a cable take: link::kPsPerMetre times its length. Must be
    /// called before anything is sent on it.
    void set_cable(std::uint32_t port, TimePs cable_ps);
    /// Sets the ports (bit n: port n) to which a switch copies packets for a multicast LID.
    void set_multicast(std::uint32_t node, Lid mlid, const std::array<std::uint64_t, 4>& ports);
    std::array<std::uint64_t, 4> multicast(std::uint32_t node, Lid mlid) const;
    /// Lets a switch send packets that allow it (packet_flag::kAdaptive) by any port of a group.
    void set_adaptive(std::uint32_t node, sw::AdaptiveTable table);
    sw::AdaptiveTable adaptive(std::uint32_t node) const {
        return adaptive_.empty() ? sw::AdaptiveTable{} : adaptive_[lft_of_[node]];
    }
    /// Returns the ports among which a switch may choose for a LID; none if it may not choose.
    std::span<const std::uint8_t> choices(std::uint32_t node, Lid lid) const {
        return adaptive_.empty() ? std::span<const std::uint8_t>()
                                 : adaptive_[lft_of_[node]].ports(lid.value);
    }
    /// Sets when the ports of a switch mark packets with FECN; threshold 0: never.
    void set_marking(std::uint32_t node, const sw::MarkingRule& rule);
    void set_port_marking(std::uint32_t port, const sw::MarkingRule& rule);
    sw::MarkingRule marking(std::uint32_t port) const {
        return marking_.empty() ? sw::MarkingRule{} : marking_[port];
    }

    // How busy a port is, for observers that poll all ports.
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

    /// Returns the rare counts of a port, by cause.
    Odd odd_counts(std::uint32_t port) const { return odd_.empty() ? Odd{} : odd_[port]; }
    /// Returns the counters of a port as the node's PMA reads them at `now`, but for those of its
    /// state.
    counters::PortCounts counts_at(std::uint32_t port, TimePs now) const;
    /// Returns the unit of XmitWait: the time of four bytes on the wire.
    TimePs tick_ps(std::uint32_t port) const;

    /// Returns the bytes of memory of the large tables.
    std::size_t bytes() const;

    // The records that the engine works on.
    Tx& tx(std::uint32_t port) { return tx_[port]; }
    const Tx& tx(std::uint32_t port) const { return tx_[port]; }
    Rx& rx(std::uint32_t link) { return rx_[link]; }
    const Rx& rx(std::uint32_t link) const { return rx_[link]; }
    std::uint32_t lane_index(std::uint32_t link, std::uint8_t vl) const {
        return (vl == link::kVl15 ? config_.data_vls : vl) * port_count() + link;
    }
    std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }
    Lane& lane_at(std::uint32_t index) { return lanes_[index]; }
    const Lane& lane_at(std::uint32_t index) const { return lanes_[index]; }
    std::uint32_t index_of(const Lane& lane) const {
        return static_cast<std::uint32_t>(&lane - lanes_.data());
    }
    /// Returns where the lane with this index would be, whether or not there is one; to prefetch.
    const void* lane_place(std::size_t index) const { return place_of(lanes_.data(), index); }
    Lane& lane(std::uint32_t link, std::uint8_t vl) { return lanes_[lane_index(link, vl)]; }
    const Lane& lane(std::uint32_t link, std::uint8_t vl) const {
        return lanes_[lane_index(link, vl)];
    }
    /// Returns the entry of a switch's forwarding table for a DLID below lid_count().
    const std::uint8_t& lft_entry(const Rx& rx, std::uint16_t dlid) const {
        return lfts_[rx.lft + dlid];
    }
    /// Returns where that entry would be, whether or not there is one; to prefetch.
    const void* lft_place(std::size_t lft, std::uint16_t dlid) const {
        return place_of(lfts_.data(), lft + dlid);
    }
    /// Returns the number of the switch that a link leads to, among switches.
    std::uint32_t switch_of(const Rx& rx) const {
        return static_cast<std::uint32_t>(rx.lft / lft_stride_);
    }
    /// Returns the ports to which a switch copies packets of a multicast group.
    const std::array<std::uint64_t, 4>& group_ports(const Rx& rx, std::uint32_t group) const {
        return mfts_[std::size_t{switch_of(rx)} * config_.multicast_lids + group];
    }
    const sw::AdaptiveTable& adaptive_of(const Rx& rx) const { return adaptive_[switch_of(rx)]; }
    /// Returns the lane of a service level where no table was written.
    std::uint8_t lane_of(std::uint8_t sl) const {
        return sl < config_.data_vls ? sl : static_cast<std::uint8_t>(sl % config_.data_vls);
    }
    /// Returns the lane of packets with a service level that come over a link and leave the switch
    /// at a port; at least data_vls if they have none.
    std::uint8_t lane_to(const Rx& rx, std::uint8_t number, std::uint8_t sl) const {
        return rx.sl_rows == kNone ? lane_of(sl) : rows_[sl_rows_[rx.sl_rows + number]][sl];
    }
    /// Returns the lane of a packet with this service level that starts at an HCA's port; kVl15 if
    /// the service level has no lane there.
    std::uint8_t first_lane(std::uint32_t port, std::uint8_t sl) const {
        const std::uint16_t row = tx_[port].sl_row;
        return row == kNoRow ? lane_of(sl) : rows_[row][sl];
    }
    link::Arbiter& arbiter(std::uint32_t port) { return arbiters_[port]; }
    sw::Marker& marker(std::uint32_t port) { return markers_[port]; }
    /// Returns the highest number of a node's ports.
    std::size_t inputs_max() const {
        // A part of a small fabric may have no node at all.
        return ports_of_.empty() ? 0 : *std::ranges::max_element(ports_of_);
    }

    /// Blocks of a lane that pending events will give back.
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

    std::uint32_t deferred_at(std::uint32_t lane) const {
        return deferred_.empty() ? 0 : deferred_[lane];
    }

  private:
    void join(const topo::Fabric& fabric, std::uint32_t node, std::uint8_t number);
    void set_length(std::uint32_t link, TimePs cable_ps);

    PlantConfig config_;
    std::uint32_t port_count_ = 0;
    std::uint32_t switch_count_ = 0;
    Table<Tx> tx_;
    Table<Rx> rx_;
    Table<Lane> lanes_;  ///< By lane, then by link, so that lanes in use lie together.
    Table<std::uint8_t> lfts_;
    std::vector<link::Arbiter> arbiters_;
    std::vector<std::uint16_t> table_of_;  ///< By port: its arbitration table.
    std::vector<link::ArbitrationTable> tables_;
    std::vector<std::uint16_t> sl_rows_;
    std::vector<std::array<std::uint8_t, 16>> rows_;
    std::vector<Odd> odd_;                 ///< By port; empty until something odd happens.
    std::vector<std::uint32_t> deferred_;  ///< By lane; empty until needed.
    std::uint32_t lft_stride_ = 0;
    std::vector<std::array<std::uint64_t, 4>> mfts_;  ///< By switch, then by group.
    std::vector<sw::AdaptiveTable> adaptive_;         ///< By switch; empty: no switch chooses.
    std::vector<sw::MarkingRule> marking_;            ///< By port; empty: no port marks.
    std::vector<sw::Marker> markers_;
    std::vector<std::uint32_t> first_port_;  ///< By node: its port 0.
    std::vector<std::uint32_t> peer_;        ///< By port: the port behind its cable, or kNone.
    std::vector<std::uint32_t> lft_of_;      ///< By node: its number among switches, or kNone.
    std::vector<std::uint8_t> is_switch_;
    std::vector<std::uint8_t> ports_of_;
    std::vector<std::string> names_;
};

}  // namespace softib::net
