// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpQpAllocation: an aggregation manager allocates queue pairs of an aggregation node, or
// releases them.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpQpAllocation {
    static constexpr std::size_t kBytes = 144;

    static constexpr std::size_t kQpsMax = 32;
    enum class Op : std::uint8_t { kNone = 0, kAllocate = 1, kRelease = 2, kConfirm = 3 };

    std::uint32_t job_id = 0;  ///< 0: the queue pairs are for trees.
    Op op{};
    std::uint8_t count = 0;  ///< At most kQpsMax.
    std::array<Qpn, kQpsMax> qps{};

    static constexpr auto fields() {
        using T = SharpQpAllocation;
        return Fields{
            Field{&T::job_id, "JobID", sharp_bit(0, 23), 24},
            Field{&T::op, "Operation", sharp_bit(0, 27), 4},
            Field{&T::count, "Count", sharp_bit(1, 5), 6},
            Field{&T::qps, "QPN", sharp_bit(4, 31), 32},
        };
    }
    friend bool operator==(const SharpQpAllocation&, const SharpQpAllocation&) = default;
};
static_assert(layout_is_sound<SharpQpAllocation>());

}  // namespace softib::wire
