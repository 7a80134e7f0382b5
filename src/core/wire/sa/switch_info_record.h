// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SwitchInfoRecord (IBA vol. 1, 15.2.5.5).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/switch_info.h"

namespace softib::wire {

struct SwitchInfoRecord {
    static constexpr std::size_t kBytes = 24;

    Lid lid{};
    SwitchInfo switch_info{};

    static constexpr auto fields() {
        using T = SwitchInfoRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::switch_info, "SwitchInfo", 32, 160, 2},
        };
    }
    friend bool operator==(const SwitchInfoRecord&, const SwitchInfoRecord&) = default;
};
static_assert(layout_is_sound<SwitchInfoRecord>());

}  // namespace softib::wire
