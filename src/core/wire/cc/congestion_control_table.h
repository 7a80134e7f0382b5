// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// CongestionControlTable: the delays between packets of an HCA, from the shortest to the longest
// (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct CongestionControlTableEntry {
    static constexpr std::size_t kBytes = 2;

    std::uint8_t cct_shift = 0;
    std::uint16_t cct_multiplier = 0;

    static constexpr auto fields() {
        using T = CongestionControlTableEntry;
        return Fields{
            Field{&T::cct_shift, "CCT_Shift", 0, 2},
            Field{&T::cct_multiplier, "CCT_Multiplier", 2, 14},
        };
    }
    friend bool operator==(const CongestionControlTableEntry&,
                           const CongestionControlTableEntry&) = default;
};
static_assert(layout_is_sound<CongestionControlTableEntry>());

struct CongestionControlTable {
    static constexpr std::size_t kBytes = 132;

    std::uint16_t ccti_limit = 0;
    std::array<CongestionControlTableEntry, 64> entry{};

    static constexpr auto fields() {
        using T = CongestionControlTable;
        return Fields{
            Field{&T::ccti_limit, "CCTI_Limit", 0, 16},
            Field{&T::entry, "Entry", 32, 16},
        };
    }
    friend bool operator==(const CongestionControlTable&, const CongestionControlTable&) = default;
};
static_assert(layout_is_sound<CongestionControlTable>());

}  // namespace softib::wire
