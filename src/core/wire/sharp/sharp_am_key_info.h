// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpAmKeyInfo: the AM_Key that a manager needs to write to an aggregation node. The attribute is
// defined by softib.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpAmKeyInfo {
    static constexpr std::size_t kBytes = 8;

    std::uint64_t am_key = 0;  ///< 0: the node needs no key. A Get() always returns 0.

    static constexpr auto fields() {
        using T = SharpAmKeyInfo;
        return Fields{Field{&T::am_key, "AM_Key", sharp_bit(0, 31), 64}.hex()};
    }
    friend bool operator==(const SharpAmKeyInfo&, const SharpAmKeyInfo&) = default;
};
static_assert(layout_is_sound<SharpAmKeyInfo>());

}  // namespace softib::wire
