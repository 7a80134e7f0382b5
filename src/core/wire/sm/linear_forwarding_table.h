// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// LinearForwardingTable: the output ports of 64 consecutive LIDs (IBA vol. 1, 14.2.5.10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

/// The entry of a LID to which the switch has no path.
inline constexpr std::uint8_t kLftNoPort = 255;
inline constexpr std::size_t kLftBlockLids = 64;

struct LinearForwardingTable {
    static constexpr std::size_t kBytes = 64;

    std::array<std::uint8_t, 64> port{};

    static constexpr auto fields() {
        using T = LinearForwardingTable;
        return Fields{
            Field{&T::port, "Port", 0, 8},
        };
    }
    friend bool operator==(const LinearForwardingTable&, const LinearForwardingTable&) = default;
};
static_assert(layout_is_sound<LinearForwardingTable>());

}  // namespace softib::wire
