// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// VLArbitrationTable: half of one of the two VL arbitration lists of a port (IBA vol. 1, 14.2.5.9).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct VlArbitrationEntry {
    static constexpr std::size_t kBytes = 2;

    std::uint8_t vl = 0;
    std::uint8_t weight = 0;  ///< In units of 64 bytes; 0: the entry is skipped.

    static constexpr auto fields() {
        using T = VlArbitrationEntry;
        return Fields{
            Field{&T::vl, "VL", 4, 4},
            Field{&T::weight, "Weight", 8, 8},
        };
    }
    friend bool operator==(const VlArbitrationEntry&, const VlArbitrationEntry&) = default;
};
static_assert(layout_is_sound<VlArbitrationEntry>());

struct VlArbitrationTable {
    static constexpr std::size_t kBytes = 64;

    std::array<VlArbitrationEntry, 32> entry{};

    static constexpr auto fields() {
        using T = VlArbitrationTable;
        return Fields{
            Field{&T::entry, "Entry", 0, 16},
        };
    }
    friend bool operator==(const VlArbitrationTable&, const VlArbitrationTable&) = default;
};
static_assert(layout_is_sound<VlArbitrationTable>());

}  // namespace softib::wire
