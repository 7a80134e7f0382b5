// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// LinearForwardingTableRecord (IBA vol. 1, 15.2.5.6). The contents of the table are no component of
// a query.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/linear_forwarding_table.h"

namespace softib::wire {

struct LinearForwardingTableRecord {
    static constexpr std::size_t kBytes = 72;

    Lid lid{};
    std::uint16_t block_num = 0;
    LinearForwardingTable linear_forwarding_table{};

    static constexpr auto fields() {
        using T = LinearForwardingTableRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::block_num, "BlockNum", 16, 16, 1},
            Field{&T::linear_forwarding_table, "LinearForwardingTable", 64, 512},
        };
    }
    friend bool operator==(const LinearForwardingTableRecord&,
                           const LinearForwardingTableRecord&) = default;
};
static_assert(layout_is_sound<LinearForwardingTableRecord>());

}  // namespace softib::wire
