// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// ExtendedPortInfo of Mellanox (attribute 0xFF90), which OpenSM and ibnetdiscover query.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::uint8_t kMlnxLinkSpeedFdr10 = 1;

struct MlnxExtendedPortInfo {
    static constexpr std::size_t kBytes = 64;

    std::uint8_t state_change_enable = 0;
    std::uint8_t link_speed_supported = 0;
    std::uint8_t link_speed_enabled = 0;
    std::uint8_t link_speed_active = 0;

    static constexpr auto fields() {
        using T = MlnxExtendedPortInfo;
        return Fields{
            Field{&T::state_change_enable, "StateChangeEnable", 24, 8}.hex(),
            Field{&T::link_speed_supported, "LinkSpeedSupported", 56, 8}.hex(),
            Field{&T::link_speed_enabled, "LinkSpeedEnabled", 88, 8}.hex(),
            Field{&T::link_speed_active, "LinkSpeedActive", 120, 8}.hex(),
        };
    }
    friend bool operator==(const MlnxExtendedPortInfo&, const MlnxExtendedPortInfo&) = default;
};
static_assert(layout_is_sound<MlnxExtendedPortInfo>());

}  // namespace softib::wire
