// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortInfoRecord (IBA vol. 1, 15.2.5.3).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/port_info.h"

namespace softib::wire {

struct PortInfoRecord {
    static constexpr std::size_t kBytes = 68;

    Lid endport_lid{};
    PortNum port_num{};
    std::uint8_t options = 0;
    PortInfo port_info{};

    static constexpr auto fields() {
        using T = PortInfoRecord;
        return Fields{
            Field{&T::endport_lid, "EndportLID", 0, 16, 0},
            Field{&T::port_num, "PortNum", 16, 8, 1},
            Field{&T::options, "Options", 24, 8, 2}.hex(),
            Field{&T::port_info, "PortInfo", 32, 512, 3},
        };
    }
    friend bool operator==(const PortInfoRecord&, const PortInfoRecord&) = default;
};
static_assert(layout_is_sound<PortInfoRecord>());

}  // namespace softib::wire
