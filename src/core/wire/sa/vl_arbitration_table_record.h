// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// VLArbitrationTableRecord (IBA vol. 1, 15.2.5.9). The contents of the table are no component of a
// query.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/vl_arbitration_table.h"

namespace softib::wire {

struct VlArbitrationTableRecord {
    static constexpr std::size_t kBytes = 72;

    Lid lid{};
    PortNum output_port_num{};
    std::uint8_t block_num = 0;
    VlArbitrationTable vl_arbitration_table{};

    static constexpr auto fields() {
        using T = VlArbitrationTableRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::output_port_num, "OutputPortNum", 16, 8, 1},
            Field{&T::block_num, "BlockNum", 24, 8, 2},
            Field{&T::vl_arbitration_table, "VLArbitrationTable", 64, 512},
        };
    }
    friend bool operator==(const VlArbitrationTableRecord&,
                           const VlArbitrationTableRecord&) = default;
};
static_assert(layout_is_sound<VlArbitrationTableRecord>());

}  // namespace softib::wire
