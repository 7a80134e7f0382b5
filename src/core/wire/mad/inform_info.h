// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// InformInfo: a subscription to notices (IBA vol. 1, 13.4.8.3).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

/// The value of TrapNumber, Type or LIDRangeBegin that means all of them.
inline constexpr std::uint16_t kInformAll = 0xFFFF;

struct InformInfo {
    static constexpr std::size_t kBytes = 36;

    Gid gid{};  ///< The GID of one port; zero: the LID range counts.
    Lid lid_range_begin{};
    Lid lid_range_end{};
    std::uint8_t is_generic = 0;
    std::uint8_t subscribe = 0;
    std::uint16_t type = 0;         ///< A NoticeType, or kInformAll.
    std::uint16_t trap_number = 0;  ///< DeviceID if the subscription is not generic.
    Qpn qpn{};
    std::uint8_t resp_time_value = 0;
    std::uint32_t producer_type = 0;  ///< VendorID if the subscription is not generic.

    static constexpr auto fields() {
        using T = InformInfo;
        return Fields{
            Field{&T::gid, "GID", 0, 128, 0},
            Field{&T::lid_range_begin, "LIDRangeBegin", 128, 16, 1},
            Field{&T::lid_range_end, "LIDRangeEnd", 144, 16, 2},
            Field{&T::is_generic, "IsGeneric", 176, 8, 4},
            Field{&T::subscribe, "Subscribe", 184, 8, 5},
            Field{&T::type, "Type", 192, 16, 6},
            Field{&T::trap_number, "TrapNumber", 208, 16, 7},
            Field{&T::qpn, "QPN", 224, 24, 8},
            Field{&T::resp_time_value, "RespTimeValue", 251, 5, 10},
            Field{&T::producer_type, "ProducerType", 264, 24, 12}.hex(),
        };
    }
    friend bool operator==(const InformInfo&, const InformInfo&) = default;
};
static_assert(layout_is_sound<InformInfo>());

}  // namespace softib::wire
