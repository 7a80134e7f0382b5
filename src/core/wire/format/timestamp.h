// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Timestamp: the node's clock for its CongestionLog, in units of 1.024 us (IBA vol. 1, annex A10).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct Timestamp {
    static constexpr std::size_t kBytes = 4;

    std::uint32_t timestamp = 0;

    static constexpr auto fields() {
        using T = Timestamp;
        return Fields{
            Field{&T::timestamp, "Timestamp", 0, 32},
        };
    }
    friend bool operator==(const Timestamp&, const Timestamp&) = default;
};
static_assert(layout_is_sound<Timestamp>());

}  // namespace softib::wire
