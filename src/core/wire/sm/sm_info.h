// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SMInfo: the state and priority of a subnet manager, for other managers (IBA vol. 1, 14.2.5.13).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class SmState : std::uint8_t { kNotActive = 0, kDiscovering = 1, kStandby = 2, kMaster = 3 };

constexpr const char* name_of(SmState state) {
    switch (state) {
        case SmState::kNotActive:
            return "not active";
        case SmState::kDiscovering:
            return "discovering";
        case SmState::kStandby:
            return "standby";
        case SmState::kMaster:
            return "master";
    }
    return "unknown";
}

/// The AttributeModifier of SubnSet(SMInfo) (IBA vol. 1, 14.4.1).
enum class SmInfoControl : std::uint32_t {
    kHandover = 1,
    kAcknowledge = 2,
    kDisable = 3,
    kStandby = 4,
    kDiscover = 5,
};

struct SmInfo {
    static constexpr std::size_t kBytes = 21;

    Guid guid{};
    std::uint64_t sm_key = 0;
    std::uint32_t act_count = 0;
    std::uint8_t priority = 0;
    SmState sm_state{};

    static constexpr auto fields() {
        using T = SmInfo;
        return Fields{
            Field{&T::guid, "GUID", 0, 64, 0},
            Field{&T::sm_key, "SM_Key", 64, 64, 1}.hex(),
            Field{&T::act_count, "ActCount", 128, 32, 2},
            Field{&T::priority, "Priority", 160, 4, 3},
            Field{&T::sm_state, "SMState", 164, 4, 4},
        };
    }
    friend bool operator==(const SmInfo&, const SmInfo&) = default;
};
static_assert(layout_is_sound<SmInfo>());

}  // namespace softib::wire
