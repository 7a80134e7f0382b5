// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpQuotaConfig: the resources of a tree at one aggregation node that a job may use.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpQuotaConfig {
    static constexpr std::size_t kBytes = 48;

    enum class Op : std::uint8_t { kNone = 0, kSet = 1, kEdit = 2 };

    std::uint32_t job_id = 0;
    Op op{};
    bool root = false;
    std::uint16_t tree_id = 0;
    bool reproducible = false;
    bool prevent_lock = false;
    std::uint32_t max_osts = 0;
    std::uint32_t max_buffers = 0;
    std::uint32_t max_groups = 0;
    Qpn ud_qpn{};
    std::uint32_t max_qps = 0;

    static constexpr auto fields() {
        using T = SharpQuotaConfig;
        return Fields{
            Field{&T::job_id, "JobID", sharp_bit(0, 23), 24},
            Field{&T::op, "Operation", sharp_bit(0, 27), 4},
            Field{&T::root, "Root", sharp_bit(0, 31), 1},
            Field{&T::tree_id, "TreeID", sharp_bit(1, 15), 16},
            Field{&T::reproducible, "JobIsReproducible", sharp_bit(1, 24), 1},
            Field{&T::prevent_lock, "PreventLock", sharp_bit(1, 31), 1},
            Field{&T::max_osts, "MaxOST", sharp_bit(2, 31), 32},
            Field{&T::max_buffers, "MaxBuffers", sharp_bit(4, 31), 32},
            Field{&T::max_groups, "MaxGroups", sharp_bit(6, 31), 32},
            Field{&T::ud_qpn, "UDQPN", sharp_bit(9, 23), 24},
            Field{&T::max_qps, "MaxQPs", sharp_bit(10, 31), 32},
        };
    }
    friend bool operator==(const SharpQuotaConfig&, const SharpQuotaConfig&) = default;
};
static_assert(layout_is_sound<SharpQuotaConfig>());

}  // namespace softib::wire
