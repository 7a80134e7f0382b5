// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GUIDInfoRecord (IBA vol. 1, 15.2.5.18). Set() requests alias GUIDs, Delete() releases them.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/guid_info.h"

namespace softib::wire {

struct GuidInfoRecord {
    static constexpr std::size_t kBytes = 72;

    Lid lid{};
    std::uint8_t block_num = 0;
    GuidInfo guid_info{};

    static constexpr auto fields() {
        using T = GuidInfoRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::block_num, "BlockNum", 16, 8, 1},
            Field{&T::guid_info, "GUIDInfo", 64, 512, 4},
        };
    }
    friend bool operator==(const GuidInfoRecord&, const GuidInfoRecord&) = default;
};
static_assert(layout_is_sound<GuidInfoRecord>());

}  // namespace softib::wire
