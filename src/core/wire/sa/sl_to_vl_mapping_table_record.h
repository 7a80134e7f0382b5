// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SLtoVLMappingTableRecord (IBA vol. 1, 15.2.5.4). The contents of the table are no component of a
// query.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/sl_to_vl_mapping_table.h"

namespace softib::wire {

struct SlToVlMappingTableRecord {
    static constexpr std::size_t kBytes = 16;

    Lid lid{};
    PortNum input_port_num{};
    PortNum output_port_num{};
    SlToVlMappingTable sl_to_vl_mapping_table{};

    static constexpr auto fields() {
        using T = SlToVlMappingTableRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::input_port_num, "InputPortNum", 16, 8, 1},
            Field{&T::output_port_num, "OutputPortNum", 24, 8, 2},
            Field{&T::sl_to_vl_mapping_table, "SLtoVLMappingTable", 64, 64},
        };
    }
    friend bool operator==(const SlToVlMappingTableRecord&,
                           const SlToVlMappingTableRecord&) = default;
};
static_assert(layout_is_sound<SlToVlMappingTableRecord>());

}  // namespace softib::wire
