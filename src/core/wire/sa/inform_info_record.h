// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// InformInfoRecord: a subscription that the SA holds (IBA vol. 1, 15.2.5.12).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/mad/inform_info.h"

namespace softib::wire {

struct InformInfoRecord {
    static constexpr std::size_t kBytes = 60;

    Gid subscriber_gid{};
    std::uint16_t enumeration = 0;
    InformInfo inform_info{};

    static constexpr auto fields() {
        using T = InformInfoRecord;
        return Fields{
            Field{&T::subscriber_gid, "SubscriberGID", 0, 128, 0},
            Field{&T::enumeration, "Enum", 128, 16, 1},
            Field{&T::inform_info, "InformInfo", 192, 288, 3},
        };
    }
    friend bool operator==(const InformInfoRecord&, const InformInfoRecord&) = default;
};
static_assert(layout_is_sound<InformInfoRecord>());

}  // namespace softib::wire
