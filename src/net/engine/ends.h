// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a network (network.h) calls at its ends: HCA ports, and port 0 of switches (their agents).
// All of these functions may call Engine::inject() and Engine::set_timer().

#include <concepts>
#include <cstdint>

#include "net/plant/packet.h"
#include "net/plant/units.h"

namespace softib::net {

class Engine;

/// Bits of kHears, which a type of ends has: what it wants to hear of besides. For each bit the
/// type has the function that is named here.
namespace hears {
inline constexpr unsigned kNothingElse = 0;
/// `void copied(Engine&, const Packet&, std::uint32_t more)`: a switch has made `more` copies of a
/// packet with a tag.
inline constexpr unsigned kCopied = 1U << 0;
/// `void dropped(Engine&, const Packet&, TimePs at)`: a packet with a tag was dropped at time `at`.
inline constexpr unsigned kDropped = 1U << 1;
/// `void tapped(Engine&, std::uint32_t port, const Packet&)`: a packet with a tag came in at a
/// tapped port.
inline constexpr unsigned kTapped = 1U << 2;
/// `void refused(Engine&, std::uint32_t port, bool inbound, const Packet&)`: a guard drops a
/// packet.
inline constexpr unsigned kRefused = 1U << 3;
/// `void fetch(const Packet&) const`: a packet will be delivered soon; prefetches memory.
inline constexpr unsigned kFetch = 1U << 4;
}  // namespace hears

template <typename E, unsigned kBit>
concept Hears = (E::kHears & kBit) != 0;

// A type that names one of these functions without its bit would never hear, and one whose function
// takes something else would not either: both are no ends.
template <typename E>
concept HearsCopiedRightly =
    (Hears<E, hears::kCopied> && requires {
        static_cast<void (E::*)(Engine&, const Packet&, std::uint32_t)>(&E::copied);
    }) || (!Hears<E, hears::kCopied> && !requires { &E::copied; });
template <typename E>
concept HearsDroppedRightly =
    (Hears<E, hears::kDropped> && requires {
        static_cast<void (E::*)(Engine&, const Packet&, TimePs)>(&E::dropped);
    }) || (!Hears<E, hears::kDropped> && !requires { &E::dropped; });
template <typename E>
concept HearsTappedRightly =
    (Hears<E, hears::kTapped> && requires {
        static_cast<void (E::*)(Engine&, std::uint32_t, const Packet&)>(&E::tapped);
    }) || (!Hears<E, hears::kTapped> && !requires { &E::tapped; });
template <typename E>
concept HearsRefusedRightly =
    (Hears<E, hears::kRefused> && requires {
        static_cast<void (E::*)(Engine&, std::uint32_t, bool, const Packet&)>(&E::refused);
    }) || (!Hears<E, hears::kRefused> && !requires { &E::refused; });
template <typename E>
concept FetchesRightly = (Hears<E, hears::kFetch> && requires {
                             static_cast<void (E::*)(const Packet&) const>(&E::fetch);
                         }) || (!Hears<E, hears::kFetch> && !requires { &E::fetch; });

template <typename E>
concept Ends =
    requires(E& ends, Engine& net, std::uint32_t port, const Packet& packet) {
        { E::kHears } -> std::convertible_to<unsigned>;
        // A packet has come in whole; it is gone after this.
        { ends.deliver(net, port, packet) } -> std::same_as<void>;
        // A packet that was injected at this port has begun to leave.
        { ends.sent(net, port, packet) } -> std::same_as<void>;
        // A timer of a port has run out. `word` is what set_timer() was given.
        { ends.timer(net, port, std::uint32_t{}) } -> std::same_as<void>;
    } && HearsCopiedRightly<E> && HearsDroppedRightly<E> && HearsTappedRightly<E> &&
    HearsRefusedRightly<E> && FetchesRightly<E>;

}  // namespace softib::net
