// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// P_KeyTableRecord (IBA vol. 1, 15.2.5.11). The contents of the table are no component of a query.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/p_key_table.h"

namespace softib::wire {

struct PKeyTableRecord {
    static constexpr std::size_t kBytes = 72;

    Lid lid{};
    std::uint16_t block_num = 0;
    PortNum port_num{};
    PKeyTable pkey_table{};

    static constexpr auto fields() {
        using T = PKeyTableRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::block_num, "BlockNum", 16, 16, 1},
            Field{&T::port_num, "PortNum", 32, 8, 2},
            Field{&T::pkey_table, "P_KeyTable", 64, 512},
        };
    }
    friend bool operator==(const PKeyTableRecord&, const PKeyTableRecord&) = default;
};
static_assert(layout_is_sound<PKeyTableRecord>());

}  // namespace softib::wire
