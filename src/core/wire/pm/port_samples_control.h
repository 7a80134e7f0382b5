// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortSamplesControl: starts a sample, in which a port counts up to 15 quantities for a time (IBA
// vol. 1, 16.1.3.2).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class SampleStatus : std::uint8_t { kDone = 0, kStarted = 1, kRunning = 2 };

/// Values of CounterSelect0 to 14 that every port with sampling supports (IBA vol. 1, 16.1.3.3).
namespace sample_counter {
inline constexpr std::uint16_t kPortXmitData = 1;
inline constexpr std::uint16_t kPortRcvData = 2;
inline constexpr std::uint16_t kPortXmitPkts = 3;
inline constexpr std::uint16_t kPortRcvPkts = 4;
inline constexpr std::uint16_t kPortXmitWait = 5;
}  // namespace sample_counter

struct PortSamplesControl {
    static constexpr std::size_t kBytes = 80;

    std::uint8_t op_code = 0;
    PortNum port_select{};
    std::uint8_t tick = 0;
    std::uint8_t counter_width = 0;
    std::array<std::uint8_t, 10> counter_mask{};   ///< CounterMask0 to 9.
    std::array<std::uint8_t, 5> counter_mask10{};  ///< CounterMask10 to 14.
    std::uint8_t sample_mechanisms = 0;
    SampleStatus sample_status{};
    std::uint64_t option_mask = 0;
    std::uint64_t vendor_mask = 0;
    std::uint32_t sample_start = 0;     ///< Ticks until the sample begins.
    std::uint32_t sample_interval = 0;  ///< Ticks that the sample takes.
    std::uint16_t tag = 0;
    std::array<std::uint16_t, 15> counter_select{};
    std::uint64_t samples_only_option_mask = 0;

    static constexpr auto fields() {
        using T = PortSamplesControl;
        return Fields{
            Field{&T::op_code, "OpCode", 0, 8}.hex(),
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::tick, "Tick", 16, 8},
            Field{&T::counter_width, "CounterWidth", 29, 3},
            Field{&T::counter_mask, "CounterMask", 34, 3},
            Field{&T::counter_mask10, "CounterMask10", 65, 3},
            Field{&T::sample_mechanisms, "SampleMechanisms", 80, 8}.hex(),
            Field{&T::sample_status, "SampleStatus", 94, 2},
            Field{&T::option_mask, "OptionMask", 96, 64}.hex(),
            Field{&T::vendor_mask, "VendorMask", 160, 64}.hex(),
            Field{&T::sample_start, "SampleStart", 224, 32},
            Field{&T::sample_interval, "SampleInterval", 256, 32},
            Field{&T::tag, "Tag", 288, 16},
            Field{&T::counter_select, "CounterSelect", 304, 16},
            Field{&T::samples_only_option_mask, "SamplesOnlyOptionMask", 576, 64}.hex(),
        };
    }
    friend bool operator==(const PortSamplesControl&, const PortSamplesControl&) = default;
};
static_assert(layout_is_sound<PortSamplesControl>());

}  // namespace softib::wire
