// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MulticastForwardingTableRecord (IBA vol. 1, 15.2.5.8). The contents of the table are no component
// of a query.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/multicast_forwarding_table.h"

namespace softib::wire {

struct MulticastForwardingTableRecord {
    static constexpr std::size_t kBytes = 72;

    Lid lid{};
    std::uint8_t position = 0;
    std::uint16_t block_num = 0;
    MulticastForwardingTable multicast_forwarding_table{};

    static constexpr auto fields() {
        using T = MulticastForwardingTableRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::position, "Position", 16, 4, 1},
            Field{&T::block_num, "BlockNum", 23, 9, 3},
            Field{&T::multicast_forwarding_table, "MulticastForwardingTable", 64, 512},
        };
    }
    friend bool operator==(const MulticastForwardingTableRecord&,
                           const MulticastForwardingTableRecord&) = default;
};
static_assert(layout_is_sound<MulticastForwardingTableRecord>());

}  // namespace softib::wire
