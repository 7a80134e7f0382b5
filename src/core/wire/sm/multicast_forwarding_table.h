// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MulticastForwardingTable: for 32 consecutive MLIDs, a mask of 16 ports (IBA vol. 1, 14.2.5.12).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::size_t kMftBlockMlids = 32;
inline constexpr std::size_t kMftPositionPorts = 16;

struct MulticastForwardingTable {
    static constexpr std::size_t kBytes = 64;

    /// A mask for each MLID; the lowest bit is the first port of the position.
    std::array<std::uint16_t, 32> port_mask{};

    static constexpr auto fields() {
        using T = MulticastForwardingTable;
        return Fields{
            Field{&T::port_mask, "PortMask", 0, 16}.hex(),
        };
    }
    friend bool operator==(const MulticastForwardingTable&,
                           const MulticastForwardingTable&) = default;
};
static_assert(layout_is_sound<MulticastForwardingTable>());

}  // namespace softib::wire
