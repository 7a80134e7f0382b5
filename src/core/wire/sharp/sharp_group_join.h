// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpGroupJoin: a child of a tree joins or leaves a group, or the group takes or releases the
// streaming locks of its ports.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpGroupJoin {
    static constexpr std::size_t kBytes = 16;

    enum class Op : std::uint8_t { kJoin = 0, kLeave = 1, kLock = 8, kUnlock = 9 };

    std::uint16_t tree_id = 0;
    Op op{};
    std::uint32_t group_id = 0;
    Qpn qpn{};  ///< kJoin, kLeave: the queue pair to the child.
    std::uint32_t job_id = 0;

    static constexpr auto fields() {
        using T = SharpGroupJoin;
        return Fields{
            Field{&T::tree_id, "TreeID", sharp_bit(0, 15), 16},
            Field{&T::op, "Operation", sharp_bit(0, 31), 4},
            Field{&T::group_id, "GroupID", sharp_bit(1, 23), 24},
            Field{&T::qpn, "QPN", sharp_bit(2, 23), 24},
            Field{&T::job_id, "JobID", sharp_bit(3, 23), 24},
        };
    }
    friend bool operator==(const SharpGroupJoin&, const SharpGroupJoin&) = default;
};
static_assert(layout_is_sound<SharpGroupJoin>());

}  // namespace softib::wire
