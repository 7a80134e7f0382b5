// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a switch forwards a packet (IBA vol. 1, 18.2.4): out of the port that its linear forwarding
// table names or, for a multicast LID, as a copy out of every port of the multicast forwarding
// table's entry. A port that enforces partitions drops packets of partitions that it is not in.
//
// relay(), for_each_copy() and lets_pass() are the rules at one switch: the packet engine moves a
// packet by one switch at a time. follow_unicast() and follow_multicast() apply them from switch to
// switch along the whole path, without time, for the direct path and for MADs in the mesh.
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
/// The most switches that a packet passes; a packet in a loop of the tables is lost after these.
inline constexpr std::uint32_t kHopsMax = 64;

enum class Relay : std::uint8_t {
    kOn,       ///< The packet goes out of the port that the table names; 0 is the switch itself.
    kUnknown,  ///< The table names no port.
    kLooping,  ///< The packet would leave by the port by which it came.
};

/// Returns what a switch does with a unicast packet that came in by port `in` (0: from the switch
/// itself). `entry` is the entry of its linear forwarding table for the packet's DLID.
constexpr Relay relay(std::uint8_t entry, std::uint8_t in) {
    if ((entry == kNoPath) | ((entry == in) & (entry != 0))) [[unlikely]] {
        return entry == kNoPath ? Relay::kUnknown : Relay::kLooping;
    }
    return Relay::kOn;
}

/// Calls visit(port) for every port out of which a switch sends a copy of a multicast packet: those
/// of its table's entry except the one by which the packet came (IBA vol. 1, 18.2.4.3.3). word(i)
/// returns the entry's ports 64 * i to 64 * i + 63 as bits. Returns whether the entry has any port.
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

/// Returns whether a packet with this P_Key may pass an external port of a switch (IBA vol. 1,
/// 18.2.4.2.1). `enforced`: the port checks packets in this direction; `keys`: its P_KeyTable.
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
    kUnknown,     ///< It came in here and is lost: the switch has no entry for its DLID.
    kLooping,     ///< It came in here and is lost: the table names the same port.
    kDiscarded,   ///< It would go out here and is lost: the port is not active.
    kRefusedIn,   ///< It came in here and is lost: the port is not in its partition.
    kRefusedOut,  ///< It would go out here and is lost: the port is not in its partition.
};

/// One switch on a walk.
template <typename T>
concept SwitchView = requires(const T& sw, std::uint8_t port, Lid lid, PKey pkey) {
    /// Returns whether the port is active for packets of this kind; port 0 always is.
    { sw.is_active(port) } -> std::same_as<bool>;
    { sw.lets_in(port, pkey) } -> std::same_as<bool>;
    { sw.lets_out(port, pkey) } -> std::same_as<bool>;
    /// Returns the entry of the linear forwarding table; kNoPath if the table has none, or if it
    /// names a port that the switch does not have.
    { sw.out_port(lid) } -> std::same_as<std::uint8_t>;
    /// Returns the place that a packet reaches which came in by the first port and leaves by the
    /// second; an empty value if it is lost between them.
    sw.cross(port, port);
};

/// The fabric of a walk. A Place is a port of a node: `port` is its number.
template <typename T>
concept FabricView = requires(const T& fabric, typename T::Place at) {
    { at.port } -> std::convertible_to<std::uint8_t>;
    /// Returns the switch that a packet has come to; an empty value if the packet is at an end of
    /// the fabric, which is a port of an HCA or router.
    { *fabric.switch_at(at) } -> SwitchView;
};

/// Returns what happens to a packet at the port by which it would leave.
template <SwitchView Switch>
Step leave(const Switch& sw, std::uint8_t out, std::optional<PKey> pkey) {
    if (!sw.is_active(out)) {
        return Step::kDiscarded;
    }
    return !pkey || sw.lets_out(out, *pkey) ? Step::kOut : Step::kRefusedOut;
}

/// Returns whether a packet gets into a switch.
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
/// std::nullopt if it is lost there.
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

/// Follows a unicast packet from `at` and returns where it ends: at an end of the fabric, which
/// need not be its destination, or at port 0 of a switch. Returns std::nullopt if it is lost. Calls
/// see(switch, port, Step) at the switch ports. Without `pkey` no port checks partitions, as on
/// VL15.
template <FabricView Fabric, typename See>
std::optional<typename Fabric::Place> follow_unicast(const Fabric& fabric,
                                                     typename Fabric::Place at, Lid dlid,
                                                     std::optional<PKey> pkey, See&& see) {
    for (std::uint32_t hops = 0;; ++hops) {
        const auto sw = fabric.switch_at(at);
        if (!sw) {
            return at;
        }
        if (hops == kHopsMax) {
            return std::nullopt;
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

    /// Follows a copy that has come to `at`, and its copies. A multicast tree passes every switch
    /// once. If the tables make a loop, copies would go round for ever; so they end here after all
    /// of them together have passed as many switches as the fabric has.
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

/// Follows the copies of a multicast packet. Calls see(switch, port, Step) at the switch ports, and
/// arrive(place) wherever a copy comes to an end of the fabric. The fabric view must also have
/// switch_count(), and its switches multicast_words() and multicast_ports(mlid, word), which are
/// the arguments of for_each_copy().
template <FabricView Fabric, typename See, typename Arrive>
void follow_multicast(const Fabric& fabric, typename Fabric::Place at, Lid mlid,
                      std::optional<PKey> pkey, See&& see, Arrive&& arrive) {
    Spread(fabric, mlid, pkey, see, arrive).go_on(at, 1);
}

}  // namespace softib::sw
