// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows the forwarding tables from one HCA to a LID, or to all the ends of a multicast LID. There
// is no other way through the fabric: a LID that the tables do not lead to cannot be reached, and a
// packet that a switch port refuses for its P_Key does not arrive.

#include <cstdint>
#include <optional>
#include <ranges>

#include "core/switch/forward.h"
#include "runtime/shm/arena.h"

namespace softib::shm {

using sw::Step;

/// A switch port that refused a packet for its P_Key, and the direction in which it did.
struct Refusal {
    SwitchPortRecord* port;
    bool inbound;
};

/// The result of walk_path.
struct Path {
    std::uint32_t hca;  ///< The HCA at which the path ends.
};

inline bool active(const std::atomic<PortState>& state) {
    return state.load(std::memory_order_relaxed) == PortState::kActive;
}

inline bool owns_lid(const HcaRecord& hca, Lid lid) {
    const std::uint16_t base = hca.lid.load(std::memory_order_relaxed);
    return base != 0 && lid.value >= base && lid.value < base + (1U << hca.lmc);
}

/// Returns the P_Key at an index of an HCA's table, which packets of a QP with this index have.
inline PKey pkey_at(const Arena& arena, std::uint32_t hca, std::uint16_t index) {
    return PKey{arena.hcas[hca].pkeys[index % kPKeysPerPort].load(std::memory_order_relaxed)};
}

/// A port of an HCA or a switch in the arena.
struct ArenaPlace {
    NodeRef node;
    std::uint8_t port;
};

/// The tables of one switch in the arena.
class ArenaSwitch {
  public:
    ArenaSwitch(const Arena& arena, std::uint32_t index)
        : arena_(&arena),
          ports_(arena.switch_ports + arena.switches[index].port_first),
          index_(index),
          port_count_(arena.switches[index].port_count) {}

    SwitchPortRecord& port(std::uint8_t port) const { return ports_[port]; }
    bool is_active(std::uint8_t port) const { return active(ports_[port].state); }
    bool lets_in(std::uint8_t port, PKey pkey) const {
        return lets_pass(ports_[port], kEnforceInbound, pkey);
    }
    bool lets_out(std::uint8_t port, PKey pkey) const {
        return lets_pass(ports_[port], kEnforceOutbound, pkey);
    }
    std::uint8_t out_port(Lid dlid) const {
        const std::uint8_t out = dlid.value < kLftEntries
                                     ? arena_->lft(index_, dlid).load(std::memory_order_relaxed)
                                     : sw::kNoPath;
        return out < port_count_ ? out : sw::kNoPath;
    }
    std::uint32_t multicast_words() const { return arena_->header->mft_words; }
    std::uint64_t multicast_ports(Lid mlid, std::uint32_t word) const {
        return arena_->mft_ports(index_, mlid, word) & ports_from(word * 64);
    }
    std::optional<ArenaPlace> cross(std::uint8_t, std::uint8_t out) const {
        return ArenaPlace{ports_[out].peer, ports_[out].peer_port};
    }

  private:
    static bool lets_pass(const SwitchPortRecord& port, std::uint8_t direction, PKey pkey) {
        const auto value = [](const std::atomic<std::uint16_t>& own) {
            return own.load(std::memory_order_relaxed);
        };
        return sw::lets_pass((port.enforcement.load(std::memory_order_relaxed) & direction) != 0,
                             std::views::transform(port.pkeys, value), pkey);
    }
    /// Returns a bit for each of the 64 ports from `first` on that exists.
    std::uint64_t ports_from(std::uint32_t first) const {
        if (port_count_ <= first) {
            return 0;
        }
        const std::uint32_t count = port_count_ - first;
        return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
    }

    const Arena* arena_;
    SwitchPortRecord* ports_;
    std::uint32_t index_;
    std::uint16_t port_count_;
};

/// The switches of the arena, for the walks of core/switch/forward.h.
class ArenaFabric {
  public:
    using Place = ArenaPlace;

    explicit ArenaFabric(const Arena& arena) : arena_(arena) {}

    std::optional<ArenaSwitch> switch_at(const Place& at) const {
        return at.node.kind == NodeRef::kSwitch && at.node.index < arena_.header->switches
                   ? std::optional(ArenaSwitch(arena_, at.node.index))
                   : std::nullopt;
    }
    std::uint32_t switch_count() const { return arena_.header->switches; }
    /// Returns the switch port at the other end of an HCA's cable.
    Place behind(std::uint32_t hca) const {
        return {{NodeRef::kSwitch, arena_.hcas[hca].peer_switch}, arena_.hcas[hca].peer_port};
    }
    /// Returns whether the place is an HCA whose port is active.
    bool is_active_hca(const Place& at) const {
        return at.node.kind == NodeRef::kHca && active(arena_.hcas[at.node.index].state);
    }

  private:
    const Arena& arena_;
};

/// Follows a datagram to its end or to where it is lost, and calls fn(SwitchPortRecord&, Step) for
/// every switch port that it comes to. Returns the HCA where it arrives, or std::nullopt if it is
/// lost. Without a `pkey` no switch port refuses it.
template <typename Fn>
std::optional<std::uint32_t> follow_datagram(const Arena& arena, std::uint32_t from_hca, Lid dlid,
                                             std::optional<PKey> pkey, Fn&& fn) {
    if (owns_lid(arena.hcas[from_hca], dlid)) {
        return from_hca;  // The HCA loops its own LID back without leaving the port.
    }
    const ArenaFabric fabric(arena);
    const auto end = sw::follow_unicast(
        fabric, fabric.behind(from_hca), dlid, pkey,
        [&](const ArenaSwitch& at, std::uint8_t port, Step step) { fn(at.port(port), step); });
    if (!end || !fabric.is_active_hca(*end) || !owns_lid(arena.hcas[end->node.index], dlid)) {
        return std::nullopt;
    }
    return end->node.index;
}

/// Follows a datagram to a multicast LID: calls fn(SwitchPortRecord&, Step) for every switch port
/// that a copy comes to, and end(hca) for every HCA where a copy arrives. The copy for other queue
/// pairs of the sending HCA never leaves that HCA and is not seen here.
template <typename Fn, typename End>
void follow_multicast(const Arena& arena, std::uint32_t from_hca, Lid mlid, PKey pkey, Fn&& fn,
                      End&& end) {
    const ArenaFabric fabric(arena);
    sw::follow_multicast(
        fabric, fabric.behind(from_hca), mlid, pkey,
        [&](const ArenaSwitch& at, std::uint8_t port, Step step) { fn(at.port(port), step); },
        [&](const ArenaPlace& at) {
            if (fabric.is_active_hca(at)) {
                end(at.node.index);
            }
        });
}

/// Returns the path from an HCA to a LID. Returns std::nullopt if a port on the way is not active,
/// a table has no entry, or the way is a loop; also if a switch port refuses the P_Key, and
/// `refused` then says which port.
std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid,
                              std::optional<PKey> pkey, std::optional<Refusal>& refused);

/// Calls fn(SwitchPortRecord&, bool is_in) for every switch port of the path from an HCA to a LID,
/// in order. Returns false, without a call, if there is no path.
template <typename Fn>
bool for_each_port(const Arena& arena, std::uint32_t from_hca, Lid dlid, Fn&& fn) {
    std::optional<Refusal> refused;
    if (!walk_path(arena, from_hca, dlid, std::nullopt, refused)) {
        return false;
    }
    follow_datagram(arena, from_hca, dlid, std::nullopt, [&](SwitchPortRecord& port, Step step) {
        if (step == Step::kIn || step == Step::kOut) {
            fn(port, step == Step::kIn);
        }
    });
    return true;
}

}  // namespace softib::shm
