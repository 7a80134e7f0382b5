// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SMInfoRecord (IBA vol. 1, 15.2.5.10).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/sm_info.h"

namespace softib::wire {

struct SmInfoRecord {
    static constexpr std::size_t kBytes = 25;

    Lid lid{};
    SmInfo sm_info{};

    static constexpr auto fields() {
        using T = SmInfoRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::sm_info, "SMInfo", 32, 168, 2},
        };
    }
    friend bool operator==(const SmInfoRecord&, const SmInfoRecord&) = default;
};
static_assert(layout_is_sound<SmInfoRecord>());

}  // namespace softib::wire
