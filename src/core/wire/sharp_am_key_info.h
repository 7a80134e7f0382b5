// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpAmKeyInfo: the key that an aggregation node asks of whoever writes into it. The attribute is
// ours.

#include <cstddef>
#include <cstdint>

#include "core/wire/layout.h"
#include "core/wire/sharp.h"

namespace softib::wire {

struct SharpAmKeyInfo {
    static constexpr std::size_t kBytes = 8;

    std::uint64_t am_key = 0;  ///< 0: it asks for none. A Get shows 0.

    static constexpr auto fields() {
        using T = SharpAmKeyInfo;
        return Fields{Field{&T::am_key, "AM_Key", sharp_bit(0, 31), 64}.hex()};
    }
    friend bool operator==(const SharpAmKeyInfo&, const SharpAmKeyInfo&) = default;
};
static_assert(layout_is_sound<SharpAmKeyInfo>());

}  // namespace softib::wire
