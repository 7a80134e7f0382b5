// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The speeds of links, by generation and width. Libraries in programs need no more of a topology.

#include <array>
#include <cstdint>

namespace softib::topo {

/// The speed generation of a link, by its marketing name. The numbers are used in shared memory and
/// must not change; so the old generations, which only dumped fabrics have, come last.
enum class Generation : std::uint8_t {
    kEdr,
    kHdr,
    kNdr,
    kXdr,
    kSdr,
    kDdr,
    kQdr,
    kFdr10,
    kFdr,
};
/// All generations, from the slowest to the fastest.
inline constexpr std::array kGenerations{Generation::kSdr,   Generation::kDdr, Generation::kQdr,
                                         Generation::kFdr10, Generation::kFdr, Generation::kEdr,
                                         Generation::kHdr,   Generation::kNdr, Generation::kXdr};

/// The width of a link in lanes; the values are those of PortInfo.LinkWidthActive and
/// ibv_port_attr.
enum class Width : std::uint8_t { k1x = 1, k4x = 2, k8x = 4, k12x = 8, k2x = 16 };
/// All widths, from the narrowest to the widest.
inline constexpr std::array kWidths{Width::k1x, Width::k2x, Width::k4x, Width::k8x, Width::k12x};
std::uint32_t lanes(Width width);

struct LinkSpeed {
    std::uint32_t gbps;          ///< Nominal data rate, rounded down: 4x EDR 100, 4x NDR 400.
    std::uint32_t active_speed;  ///< ibv_port_attr.active_speed_ex bit: SDR 1 … XDR 256.
    std::uint8_t active_width;   ///< ibv_port_attr.active_width: 2 is 4X.
    const char* name;            ///< "EDR", as sysfs prints it after the rate.
    std::uint32_t mbps;          ///< Nominal data rate, not rounded: 1x SDR 2500.
};

LinkSpeed link_speed(Generation generation, Width width = Width::k4x);

}  // namespace softib::topo
