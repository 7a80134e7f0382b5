// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows the forwarding tables from one HCA to a LID, or to all the ends of a multicast LID. What
// the tables do not lead to cannot be reached, and what a switch port keeps out by its partition
// does not arrive: there is no other way through the fabric.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "runtime/shm/arena.h"

namespace softib::live {

/// The switch port that did not let a packet of this partition pass.
struct Refusal {
    SwitchPortRecord* port;
    bool inbound;
};

struct Path {
    std::uint32_t hca;   ///< Where it ends.
    std::uint32_t hops;  ///< Switches passed.
};

inline constexpr std::uint32_t kHopsMax = 64;
inline constexpr std::uint8_t kNoRoute = 0xFF;

inline bool active(const std::atomic<PortState>& state) {
    return state.load(std::memory_order_relaxed) == PortState::kActive;
}

inline bool owns_lid(const HcaRecord& hca, Lid lid) {
    const std::uint16_t base = hca.lid.load(std::memory_order_relaxed);
    return base != 0 && lid.value >= base && lid.value < base + (1U << hca.lmc);
}

/// What agent::Node::lets_pass() says of the same port.
inline bool lets_pass(const SwitchPortRecord& port, bool inbound, PKey pkey) {
    const std::uint8_t bit = inbound ? kEnforceInbound : kEnforceOutbound;
    if ((port.enforcement.load(std::memory_order_relaxed) & bit) == 0) [[likely]] {
        return true;
    }
    return std::ranges::any_of(port.pkeys, [&](const std::atomic<std::uint16_t>& own) {
        return same_partition(PKey{own.load(std::memory_order_relaxed)}, pkey);
    });
}

/// What stands at this index of an HCA's table, and so in the packets of a QP that uses it.
inline PKey pkey_at(const Arena& arena, std::uint32_t hca, std::uint16_t index) {
    return PKey{arena.hcas[hca].pkeys[index % kPKeysPerPort].load(std::memory_order_relaxed)};
}

/// Nothing when a port on the way is not active, a table has no entry, or the way is a loop. Nor
/// when a switch port refuses this P_Key: then `refused` says which.
std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid,
                              std::optional<PKey> pkey, std::optional<Refusal>& refused);

/// Calls fn(SwitchPortRecord&, bool is_in) for every switch port of the way, in order; false and
/// no calls where there is no way.
template <typename Fn>
bool for_each_port(const Arena& arena, std::uint32_t from_hca, Lid dlid, Fn&& fn) {
    std::optional<Refusal> refused;
    if (!walk_path(arena, from_hca, dlid, std::nullopt, refused)) {
        return false;
    }
    NodeRef at{NodeRef::kSwitch, arena.hcas[from_hca].peer_switch};
    std::uint8_t in = arena.hcas[from_hca].peer_port;
    if (owns_lid(arena.hcas[from_hca], dlid)) {
        return true;  // Looped back before the port.
    }
    while (at.kind == NodeRef::kSwitch) {
        const SwitchRecord& sw = arena.switches[at.index];
        const std::uint8_t out = arena.lft(at.index, dlid).load(std::memory_order_relaxed);
        SwitchPortRecord& port = arena.switch_ports[sw.port_first + out];
        fn(arena.switch_ports[sw.port_first + in], true);
        fn(port, false);
        at = port.peer;
        in = port.peer_port;
    }
    return true;
}

/// What happens to a datagram at a switch port.
enum class Step : std::uint8_t {
    kIn,
    kOut,
    kUnknown,    ///< Came in here, and the switch's table does not know where to.
    kDiscarded,  ///< Was to go out here, and the port is not active.
    kRefusedIn,  ///< Came in here, and its partition may not.
    kRefusedOut,
};

inline Step leave(const SwitchPortRecord& port, PKey pkey) {
    if (!active(port.state)) {
        return Step::kDiscarded;
    }
    return lets_pass(port, false, pkey) ? Step::kOut : Step::kRefusedOut;
}

/// Follows a datagram to its end or to where it is lost: fn(SwitchPortRecord&, Step) at the switch
/// ports, end(hca) where it arrives.
template <typename Fn, typename End>
void follow_datagram(const Arena& arena, std::uint32_t from_hca, Lid dlid, PKey pkey, Fn&& fn,
                     End&& end) {
    const HcaRecord& source = arena.hcas[from_hca];
    if (owns_lid(source, dlid)) {
        end(from_hca);
        return;
    }
    NodeRef at{NodeRef::kSwitch, source.peer_switch};
    std::uint8_t in = source.peer_port;
    for (std::uint32_t hops = 0; hops <= kHopsMax; ++hops) {
        if (at.kind == NodeRef::kHca && active(arena.hcas[at.index].state) &&
            owns_lid(arena.hcas[at.index], dlid)) {
            end(at.index);
        }
        if (at.kind != NodeRef::kSwitch || at.index >= arena.header->switches) {
            return;
        }
        const SwitchRecord& sw = arena.switches[at.index];
        SwitchPortRecord* const ports = arena.switch_ports + sw.port_first;
        if (!active(ports[in].state)) {
            return;
        }
        fn(ports[in], Step::kIn);
        if (!lets_pass(ports[in], true, pkey)) {
            fn(ports[in], Step::kRefusedIn);
            return;
        }
        const std::uint8_t out = dlid.value < kLftEntries
                                     ? arena.lft(at.index, dlid).load(std::memory_order_relaxed)
                                     : kNoRoute;
        if (out == 0) {
            return;  // For the switch itself, which has no such queue pair.
        }
        if (out >= sw.port_count) {
            fn(ports[in], Step::kUnknown);
            return;
        }
        const Step step = leave(ports[out], pkey);
        fn(ports[out], step);
        if (step != Step::kOut) {
            return;
        }
        at = ports[out].peer;
        in = ports[out].peer_port;
    }
}

/// The same for a multicast LID: every switch sends a copy out of all ports of its table's entry
/// but the one by which the packet came (IBA vol. 1, 18.2.4.3.3). The copy that an HCA keeps for
/// its own queue pairs never leaves it and is not seen here.
template <typename Fn, typename End>
class Spread {
  public:
    Spread(const Arena& arena, Lid mlid, PKey pkey, Fn& fn, End& end)
        : arena_(arena),
          mlid_(mlid),
          pkey_(pkey),
          fn_(fn),
          end_(end),
          budget_(arena.header->switches) {}

    /// A tree passes every switch once. Where tables make a loop, copies would go round for ever;
    /// here they end when they have passed as many switches as there are.
    void enter(std::uint32_t sw_index, std::uint8_t in, std::uint32_t hops) {
        if (sw_index >= arena_.header->switches || hops > kHopsMax || budget_ == 0) {
            return;
        }
        const SwitchRecord& sw = arena_.switches[sw_index];
        SwitchPortRecord* const ports = arena_.switch_ports + sw.port_first;
        if (!active(ports[in].state)) {
            return;
        }
        --budget_;
        fn_(ports[in], Step::kIn);
        if (!lets_pass(ports[in], true, pkey_)) {
            fn_(ports[in], Step::kRefusedIn);
            return;
        }
        bool known = false;
        for (std::uint32_t word = 0; word < arena_.header->mft_words; ++word) {
            std::uint64_t mask = arena_.mft_ports(sw_index, mlid_, word);
            known = known || mask != 0;
            for (; mask != 0; mask &= mask - 1) {
                const std::uint32_t out =
                    word * 64 + static_cast<std::uint32_t>(std::countr_zero(mask));
                if (out != 0 && out != in && out < sw.port_count) {
                    copy(ports[out], hops);
                }
            }
        }
        if (!known) {
            fn_(ports[in], Step::kUnknown);
        }
    }

  private:
    void copy(SwitchPortRecord& port, std::uint32_t hops) {
        const Step step = leave(port, pkey_);
        fn_(port, step);
        if (step != Step::kOut) {
            return;
        }
        if (port.peer.kind == NodeRef::kSwitch) {
            enter(port.peer.index, port.peer_port, hops + 1);
        } else if (port.peer.kind == NodeRef::kHca && active(arena_.hcas[port.peer.index].state)) {
            end_(port.peer.index);
        }
    }

    const Arena& arena_;
    const Lid mlid_;
    const PKey pkey_;
    Fn& fn_;
    End& end_;
    std::uint32_t budget_;
};

template <typename Fn, typename End>
void follow_multicast(const Arena& arena, std::uint32_t from_hca, Lid mlid, PKey pkey, Fn&& fn,
                      End&& end) {
    const HcaRecord& source = arena.hcas[from_hca];
    Spread(arena, mlid, pkey, fn, end).enter(source.peer_switch, source.peer_port, 1);
}

}  // namespace softib::live
