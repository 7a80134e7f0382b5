// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SLtoVLMappingTable: the lane that each service level takes (IBA vol. 1, 14.2.5.8).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

/// The lane of service levels whose packets are dropped.
inline constexpr std::uint8_t kVlDrop = 15;

struct SlToVlMappingTable {
    static constexpr std::size_t kBytes = 8;

    std::array<std::uint8_t, 16> vl{};  ///< By SL.

    static constexpr auto fields() {
        using T = SlToVlMappingTable;
        return Fields{
            Field{&T::vl, "VL", 0, 4},
        };
    }
    friend bool operator==(const SlToVlMappingTable&, const SlToVlMappingTable&) = default;
};
static_assert(layout_is_sound<SlToVlMappingTable>());

}  // namespace softib::wire
