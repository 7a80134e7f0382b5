// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Adaptive routing: chooses, among ports on shortest paths to a destination, the one with the least
// to send. A port on a longer path is chosen only if twice its wait plus a margin is less than the
// wait on the shortest one (UGAL, Kim et al. 2008: a detour has about twice as many hops).

#include <cstdint>
#include <span>

namespace softib::sw {

inline constexpr std::uint64_t kNotEligible = UINT64_MAX;

/// Returns the port where a packet would wait least; `otherwise` if no port is eligible. load(port)
/// returns how long a packet would wait there, or kNotEligible. The search begins at index `start`
/// and goes round; of equal ports the first wins, so ties spread if the caller changes `start`.
template <typename Load>
std::uint8_t least_loaded(std::span<const std::uint8_t> ports, std::uint32_t start,
                          std::uint8_t otherwise, Load load) {
    std::uint64_t least = kNotEligible;
    std::uint8_t best = otherwise;
    const auto count = static_cast<std::uint32_t>(ports.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint8_t port = ports[(start + i) % count];
        const std::uint64_t waits = load(port);
        if (waits < least) {
            least = waits;
            best = port;
            if (waits == 0) {
                break;
            }
        }
    }
    return best;
}

/// Returns the port where a packet would wait least, with ports on shortest paths (`near`) and on
/// longer ones (`far`). `detour` is the margin: the wait on the shortest path above which an idle
/// port of a longer path is better.
template <typename Load>
std::uint8_t least_loaded(std::span<const std::uint8_t> near, std::span<const std::uint8_t> far,
                          std::uint32_t start, std::uint8_t otherwise, std::uint64_t detour,
                          Load load) {
    const std::uint8_t best = least_loaded(near, start, otherwise, load);
    const std::uint64_t waits = near.empty() ? kNotEligible : load(best);
    if (waits <= detour || far.empty()) {
        return best;
    }
    return least_loaded(far, start, best, [&](std::uint8_t port) {
        const std::uint64_t there = load(port);
        return there < (waits - detour) / 2 ? there : kNotEligible;
    });
}

}  // namespace softib::sw
