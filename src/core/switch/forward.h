// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a switch forwards a packet (IBA vol. 1, 18.2.4): by the port that its linear forwarding table
// names, or, for a multicast LID, as a copy out of every port of the multicast forwarding table's
// entry; and past no port that enforces other partitions than the packet's.
//
// relay(), for_each_copy() and lets_pass() are the rules at one switch: the packet engine moves a
// packet by one switch at a time. follow_unicast() and follow_multicast() apply them from switch
// to switch, in no time, for the direct path and for the mesh of management datagrams.
//
// The rules own no tables. A walk reads those of its fabric through a view (see SwitchView and
// FabricView); all calls are inlined.

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>

#include "core/base/ids.h"

namespace softib::sw {

/// The entry of a linear forwarding table that leads nowhere.
inline constexpr std::uint8_t kNoPath = 0xFF;
/// Switches on the longest path of a sound subnet; a loop in the tables ends here.
inline constexpr std::uint32_t kHopsMax = 64;

enum class Relay : std::uint8_t {
    kOn,       ///< Out of the port that the table names. Port 0 is the switch itself.
    kUnknown,  ///< The table names no port.
    kLooping,  ///< The packet would leave by the port by which it came.
};

/// Returns what a switch does with a unicast packet that came in by port `in` (0: from the switch
/// itself), where `entry` is what its table says of the packet's destination.
constexpr Relay relay(std::uint8_t entry, std::uint8_t in) {
    if ((entry == kNoPath) | ((entry == in) & (entry != 0))) [[unlikely]] {
        return entry == kNoPath ? Relay::kUnknown : Relay::kLooping;
    }
    return Relay::kOn;
}

/// Calls visit(port) for every port out of which a switch sends a copy of a multicast packet: those
/// of its table's entry but the one by which the packet came (IBA vol. 1, 18.2.4.3.3).
/// word(i) is the entry's ports from 64 * i on, a bit each. Returns whether the entry has any port.
template <typename Word, typename Visit>
bool for_each_copy(std::uint32_t words, Word&& word, std::uint8_t in, Visit&& visit) {
    bool any = false;
    for (std::uint32_t i = 0; i < words; ++i) {
        std::uint64_t bits = word(i);
        any = any || bits != 0;
        for (; bits != 0; bits &= bits - 1) {
            const auto port = static_cast<std::uint8_t>(
                i * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            if (port != in) {
                visit(port);
            }
        }
    }
    return any;
}

/// Whether a packet of this partition may pass an external port of a switch (IBA vol. 1,
/// 18.2.4.2.1). `enforced`: the port looks at packets in this direction; `keys`: its P_KeyTable.
template <typename Keys>
constexpr bool lets_pass(bool enforced, const Keys& keys, PKey pkey) {
    return !enforced || std::ranges::any_of(keys, [pkey](const auto& own) {
        return same_partition(PKey{own}, pkey);
    });
}

/// What happens to a packet at a port of a switch.
enum class Step : std::uint8_t {
    kIn,
    kOut,
    kUnknown,     ///< Came in here, and the switch's table does not know where to.
    kLooping,     ///< Came in here, and would leave here.
    kDiscarded,   ///< Would go out here, and the port is not active.
    kRefusedIn,   ///< Came in here, and its partition may not.
    kRefusedOut,  ///< Would go out here, and its partition may not.
};

/// One switch on a walk.
template <typename T>
concept SwitchView = requires(const T& sw, std::uint8_t port, Lid lid, PKey pkey) {
    /// Whether the port carries packets of the walk's kind. Port 0 is always there.
    { sw.is_active(port) } -> std::same_as<bool>;
    { sw.lets_in(port, pkey) } -> std::same_as<bool>;
    { sw.lets_out(port, pkey) } -> std::same_as<bool>;
    /// The entry of the linear forwarding table; kNoPath for what the table does not have, and for
    /// ports that the switch does not have.
    { sw.out_port(lid) } -> std::same_as<std::uint8_t>;
    /// Where a packet is that came in by one port and went out by the other; nothing: lost.
    sw.cross(port, port);
};

/// The fabric of a walk. A Place is a port of a node: `port` is its number.
template <typename T>
concept FabricView = requires(const T& fabric, typename T::Place at) {
    { at.port } -> std::convertible_to<std::uint8_t>;
    /// The switch that a packet has come to; nothing: the packet is at an end of the fabric.
    { *fabric.switch_at(at) } -> SwitchView;
};

/// What happens to a packet at the port by which it would leave.
template <SwitchView Switch>
Step leave(const Switch& sw, std::uint8_t out, std::optional<PKey> pkey) {
    if (!sw.is_active(out)) {
        return Step::kDiscarded;
    }
    return !pkey || sw.lets_out(out, *pkey) ? Step::kOut : Step::kRefusedOut;
}

/// Whether a packet comes into a switch.
template <SwitchView Switch, typename See>
bool enter(const Switch& sw, std::uint8_t in, std::optional<PKey> pkey, See&& see) {
    if (!sw.is_active(in)) {
        return false;
    }
    see(sw, in, Step::kIn);
    if (pkey && !sw.lets_in(in, *pkey)) {
        see(sw, in, Step::kRefusedIn);
        return false;
    }
    return true;
}

/// Returns the port by which a unicast packet leaves a switch, 0 if it is for the switch itself;
/// nothing: it is lost there.
template <SwitchView Switch, typename See>
std::optional<std::uint8_t> pass(const Switch& sw, std::uint8_t in, Lid dlid,
                                 std::optional<PKey> pkey, See&& see) {
    if (!enter(sw, in, pkey, see)) {
        return std::nullopt;
    }
    const std::uint8_t out = sw.out_port(dlid);
    if (const Relay relayed = relay(out, in); relayed != Relay::kOn) {
        see(sw, in, relayed == Relay::kUnknown ? Step::kUnknown : Step::kLooping);
        return std::nullopt;
    }
    if (out == 0) {
        return out;
    }
    const Step step = leave(sw, out, pkey);
    see(sw, out, step);
    return step == Step::kOut ? std::optional(out) : std::nullopt;
}

/// Follows a unicast packet from a place and returns where it ends: at an end of the fabric, which
/// need not be its destination, or at port 0 of a switch. Nothing: it is lost. Calls
/// see(switch, port, Step) at the switch ports. No `pkey`: no port looks at partitions, as on VL15.
template <FabricView Fabric, typename See>
std::optional<typename Fabric::Place> follow_unicast(const Fabric& fabric,
                                                     typename Fabric::Place at, Lid dlid,
                                                     std::optional<PKey> pkey, See&& see) {
    for (std::uint32_t hops = 0; hops <= kHopsMax; ++hops) {
        const auto sw = fabric.switch_at(at);
        if (!sw) {
            return at;
        }
        const std::optional<std::uint8_t> out = pass(*sw, at.port, dlid, pkey, see);
        if (!out) {
            return std::nullopt;
        }
        if (*out == 0) {
            at.port = 0;
            return at;
        }
        const auto next = sw->cross(at.port, *out);
        if (!next) {
            return std::nullopt;
        }
        at = *next;
    }
    return std::nullopt;
}

/// The copies of one multicast packet on their way.
template <FabricView Fabric, typename See, typename Arrive>
class Spread {
  public:
    Spread(const Fabric& fabric, Lid mlid, std::optional<PKey> pkey, See& see, Arrive& arrive)
        : fabric_(fabric),
          mlid_(mlid),
          pkey_(pkey),
          see_(see),
          arrive_(arrive),
          budget_(fabric.switch_count()) {}

    /// A tree passes every switch once. Where tables make a loop, copies would go round for ever;
    /// here they end when they have passed as many switches as there are.
    void go_on(typename Fabric::Place at, std::uint32_t hops) {
        const auto sw = fabric_.switch_at(at);
        if (!sw) {
            arrive_(at);
            return;
        }
        if (hops > kHopsMax || budget_ == 0 || !enter(*sw, at.port, pkey_, see_)) {
            return;
        }
        --budget_;
        const bool known = for_each_copy(
            sw->multicast_words(),
            [&](std::uint32_t word) { return sw->multicast_ports(mlid_, word); }, at.port,
            [&](std::uint8_t out) { copy(*sw, at.port, out, hops); });
        if (!known) {
            see_(*sw, at.port, Step::kUnknown);
        }
    }

  private:
    void copy(const auto& sw, std::uint8_t in, std::uint8_t out, std::uint32_t hops) {
        if (out == 0) {
            return;  // The switch itself, where no queue pair can be attached to a group.
        }
        const Step step = leave(sw, out, pkey_);
        see_(sw, out, step);
        if (step != Step::kOut) {
            return;
        }
        if (const auto next = sw.cross(in, out)) {
            go_on(*next, hops + 1);
        }
    }

    const Fabric& fabric_;
    const Lid mlid_;
    const std::optional<PKey> pkey_;
    See& see_;
    Arrive& arrive_;
    std::uint32_t budget_;
};

/// Follows the copies of a multicast packet: see(switch, port, Step) at the switch ports,
/// arrive(place) wherever a copy comes to an end of the fabric. The fabric has a switch_count(),
/// and its switches have multicast_words() and multicast_ports(mlid, word), see for_each_copy.
template <FabricView Fabric, typename See, typename Arrive>
void follow_multicast(const Fabric& fabric, typename Fabric::Place at, Lid mlid,
                      std::optional<PKey> pkey, See&& see, Arrive&& arrive) {
    Spread(fabric, mlid, pkey, see, arrive).go_on(at, 1);
}

}  // namespace softib::sw
