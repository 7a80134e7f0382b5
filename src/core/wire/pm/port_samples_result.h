// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortSamplesResult: the counters of a sample, in 32 bits (IBA vol. 1, 16.1.3.4).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/pm/port_samples_control.h"

namespace softib::wire {

struct PortSamplesResult {
    static constexpr std::size_t kBytes = 64;

    std::uint16_t tag = 0;
    SampleStatus sample_status{};
    std::array<std::uint32_t, 15> counter{};

    static constexpr auto fields() {
        using T = PortSamplesResult;
        return Fields{
            Field{&T::tag, "Tag", 0, 16},
            Field{&T::sample_status, "SampleStatus", 30, 2},
            Field{&T::counter, "Counter", 32, 32},
        };
    }
    friend bool operator==(const PortSamplesResult&, const PortSamplesResult&) = default;
};
static_assert(layout_is_sound<PortSamplesResult>());

}  // namespace softib::wire
