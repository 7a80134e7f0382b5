// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// CongestionInfo: the congestion control capabilities of a node (IBA vol. 1, annex A10).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

/// The bit of CongestionInfo by which a switch says that it supports credit starvation.
inline constexpr std::uint16_t kCongestionInfoCreditStarvation = 1;

struct CongestionInfo {
    static constexpr std::size_t kBytes = 4;

    std::uint16_t congestion_info = 0;
    /// HCA: the size of its congestion control table, in blocks of 64 entries.
    std::uint8_t control_table_cap = 0;

    static constexpr auto fields() {
        using T = CongestionInfo;
        return Fields{
            Field{&T::congestion_info, "CongestionInfo", 0, 16}.hex(),
            Field{&T::control_table_cap, "ControlTableCap", 16, 8},
        };
    }
    friend bool operator==(const CongestionInfo&, const CongestionInfo&) = default;
};
static_assert(layout_is_sound<CongestionInfo>());

}  // namespace softib::wire
