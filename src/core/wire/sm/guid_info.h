// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GUIDInfo: one block of a port's GUID table (IBA vol. 1, 14.2.5.5).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct GuidInfo {
    static constexpr std::size_t kBytes = 64;

    std::array<Guid, 8> guid{};

    static constexpr auto fields() {
        using T = GuidInfo;
        return Fields{
            Field{&T::guid, "GUID", 0, 64, 0}.each(),
        };
    }
    friend bool operator==(const GuidInfo&, const GuidInfo&) = default;
};
static_assert(layout_is_sound<GuidInfo>());

}  // namespace softib::wire
