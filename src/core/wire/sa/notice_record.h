// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// NoticeRecord: a notice that the SA keeps for one subscriber (IBA vol. 1, 15.2.5).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/mad/notice.h"

namespace softib::wire {

struct NoticeRecord {
    static constexpr std::size_t kBytes = 104;

    std::uint64_t notification_id = 0;
    Gid subscriber_gid{};
    GmpNotice notice{};

    static constexpr auto fields() {
        using T = NoticeRecord;
        return Fields{
            Field{&T::notification_id, "NotificationID", 0, 64, 0}.hex(),
            Field{&T::subscriber_gid, "SubscriberGID", 64, 128, 1},
            Field{&T::notice, "Notice", 192, 640, 2},
        };
    }
    friend bool operator==(const NoticeRecord&, const NoticeRecord&) = default;
};
static_assert(layout_is_sound<NoticeRecord>());

}  // namespace softib::wire
