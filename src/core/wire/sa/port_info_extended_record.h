// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortInfoExtendedRecord (IBA vol. 1, 15.2.5).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/port_info_extended.h"

namespace softib::wire {

struct PortInfoExtendedRecord {
    static constexpr std::size_t kBytes = 68;

    Lid endport_lid{};
    PortNum port_num{};
    std::uint8_t options = 0;
    PortInfoExtended port_info_extended{};

    static constexpr auto fields() {
        using T = PortInfoExtendedRecord;
        return Fields{
            Field{&T::endport_lid, "EndportLID", 0, 16, 0},
            Field{&T::port_num, "PortNum", 16, 8, 1},
            Field{&T::options, "Options", 24, 8, 2}.hex(),
            Field{&T::port_info_extended, "PortInfoExtended", 32, 512},
        };
    }
    friend bool operator==(const PortInfoExtendedRecord&, const PortInfoExtendedRecord&) = default;
};
static_assert(layout_is_sound<PortInfoExtendedRecord>());

}  // namespace softib::wire
