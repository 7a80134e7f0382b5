// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpResourceCleanup: an aggregation node releases the resources of a job, of a tree, or all.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpResourceCleanup {
    static constexpr std::size_t kBytes = 16;

    enum class Op : std::uint8_t { kNone = 0, kJob = 1, kTree = 2, kJobTree = 3, kAll = 5 };

    std::uint32_t job_id = 0;
    Op op{};
    std::uint16_t tree_id = 0;
    std::uint32_t group_id = 0;

    static constexpr auto fields() {
        using T = SharpResourceCleanup;
        return Fields{
            Field{&T::job_id, "JobID", sharp_bit(0, 23), 24},
            Field{&T::op, "Operation", sharp_bit(0, 31), 4},
            Field{&T::tree_id, "TreeID", sharp_bit(1, 15), 16},
            Field{&T::group_id, "GroupID", sharp_bit(2, 23), 24},
        };
    }
    friend bool operator==(const SharpResourceCleanup&, const SharpResourceCleanup&) = default;
};
static_assert(layout_is_sound<SharpResourceCleanup>());

}  // namespace softib::wire
