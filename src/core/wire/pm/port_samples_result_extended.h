// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortSamplesResultExtended: the counters of a sample, in 64 bits (IBA vol. 1, 16.1.4.12).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/pm/port_samples_control.h"

namespace softib::wire {

struct PortSamplesResultExtended {
    static constexpr std::size_t kBytes = 128;

    std::uint16_t tag = 0;
    SampleStatus sample_status{};
    std::uint8_t extended_width = 0;  ///< 0: 32 bits, 1: 48, 2: 64.
    std::array<std::uint64_t, 15> counter{};

    static constexpr auto fields() {
        using T = PortSamplesResultExtended;
        return Fields{
            Field{&T::tag, "Tag", 0, 16},
            Field{&T::sample_status, "SampleStatus", 30, 2},
            Field{&T::extended_width, "ExtendedWidth", 32, 2},
            Field{&T::counter, "Counter", 64, 64},
        };
    }
    friend bool operator==(const PortSamplesResultExtended&,
                           const PortSamplesResultExtended&) = default;
};
static_assert(layout_is_sound<PortSamplesResultExtended>());

}  // namespace softib::wire
