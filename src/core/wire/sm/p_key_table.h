// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// P_KeyTable: one block of a port's P_Keys (IBA vol. 1, 14.2.5.7).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::size_t kPKeyBlock = 32;

struct PKeyTable {
    static constexpr std::size_t kBytes = 64;

    std::array<PKey, kPKeyBlock> pkey{};

    static constexpr auto fields() {
        using T = PKeyTable;
        return Fields{
            Field{&T::pkey, "P_Key", 0, 16},
        };
    }
    friend bool operator==(const PKeyTable&, const PKeyTable&) = default;
};
static_assert(layout_is_sound<PKeyTable>());

}  // namespace softib::wire
