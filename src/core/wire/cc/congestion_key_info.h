// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// CongestionKeyInfo: the CC_Key, which protects the settings of congestion control (IBA vol. 1,
// annex A10).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct CongestionKeyInfo {
    static constexpr std::size_t kBytes = 16;

    std::uint64_t cc_key = 0;
    bool cc_key_protect_bit = false;
    std::uint16_t cc_key_lease_period = 0;
    std::uint16_t cc_key_violations = 0;

    static constexpr auto fields() {
        using T = CongestionKeyInfo;
        return Fields{
            Field{&T::cc_key, "CC_Key", 0, 64}.hex(),
            Field{&T::cc_key_protect_bit, "CC_KeyProtectBit", 64, 1},
            Field{&T::cc_key_lease_period, "CC_KeyLeasePeriod", 80, 16},
            Field{&T::cc_key_violations, "CC_KeyViolations", 96, 16},
        };
    }
    friend bool operator==(const CongestionKeyInfo&, const CongestionKeyInfo&) = default;
};
static_assert(layout_is_sound<CongestionKeyInfo>());

}  // namespace softib::wire
