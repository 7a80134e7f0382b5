// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// LedInfo: the LED of a port, by which people find it (IBA vol. 1, 14.2.5.15).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct LedInfo {
    static constexpr std::size_t kBytes = 4;

    bool led_mask = false;

    static constexpr auto fields() {
        using T = LedInfo;
        return Fields{
            Field{&T::led_mask, "LedMask", 0, 1},
        };
    }
    friend bool operator==(const LedInfo&, const LedInfo&) = default;
};
static_assert(layout_is_sound<LedInfo>());

}  // namespace softib::wire
