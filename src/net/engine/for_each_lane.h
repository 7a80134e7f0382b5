// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bit>
#include <cstdint>

namespace softib::net {

/// Calls visit(lane number) for every bit, until it returns false.
void for_each_lane(std::uint16_t mask, auto visit) {
    for (; mask != 0; mask &= static_cast<std::uint16_t>(mask - 1)) {
        if (!visit(static_cast<std::uint8_t>(std::countr_zero(mask)))) {
            return;
        }
    }
}

}  // namespace softib::net
