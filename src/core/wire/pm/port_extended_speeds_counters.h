// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortExtendedSpeedsCounters: errors of links with 14 Gb/s or more per lane (IBA vol. 1,
// 16.1.4.13). With Reed-Solomon FEC the same attribute has another format.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortExtendedSpeedsCounters {
    static constexpr std::size_t kBytes = 140;

    PortNum port_select{};
    std::uint64_t counter_select = 0;
    std::uint16_t sync_header_error_counter = 0;
    std::uint16_t unknown_block_counter = 0;
    std::array<std::uint16_t, 12> error_detection_counter_lane{};
    std::array<std::uint32_t, 12> fec_correctable_block_counter_lane{};
    std::array<std::uint32_t, 12> fec_uncorrectable_block_counter_lane{};

    static constexpr auto fields() {
        using T = PortExtendedSpeedsCounters;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 64, 64}.hex(),
            Field{&T::sync_header_error_counter, "SyncHeaderErrorCounter", 128, 16},
            Field{&T::unknown_block_counter, "UnknownBlockCounter", 144, 16},
            Field{&T::error_detection_counter_lane, "ErrorDetectionCounterLane", 160, 16},
            Field{&T::fec_correctable_block_counter_lane, "FECCorrectableBlockCtrLane", 352, 32},
            Field{&T::fec_uncorrectable_block_counter_lane, "FECUncorrectableBlockCtrLane", 736,
                  32},
        };
    }
    friend bool operator==(const PortExtendedSpeedsCounters&,
                           const PortExtendedSpeedsCounters&) = default;
};
static_assert(layout_is_sound<PortExtendedSpeedsCounters>());

struct PortExtendedSpeedsRsFecCounters {
    static constexpr std::size_t kBytes = 152;

    PortNum port_select{};
    std::uint64_t counter_select = 0;
    std::uint16_t sync_header_error_counter = 0;
    std::uint16_t unknown_block_counter = 0;
    std::array<std::uint32_t, 12> fec_correctable_symbol_counter_lane{};
    std::uint32_t port_fec_correctable_block_counter = 0;
    std::uint32_t port_fec_uncorrectable_block_counter = 0;
    std::uint32_t port_fec_corrected_symbol_counter = 0;

    static constexpr auto fields() {
        using T = PortExtendedSpeedsRsFecCounters;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 64, 64}.hex(),
            Field{&T::sync_header_error_counter, "SyncHeaderErrorCounter", 128, 16},
            Field{&T::unknown_block_counter, "UnknownBlockCounter", 144, 16},
            Field{&T::fec_correctable_symbol_counter_lane, "FECCorrectableSymbolCtrLane", 352, 32},
            Field{&T::port_fec_correctable_block_counter, "PortFECCorrectableBlockCtr", 1120, 32},
            Field{&T::port_fec_uncorrectable_block_counter, "PortFECUncorrectableBlockCtr", 1152,
                  32},
            Field{&T::port_fec_corrected_symbol_counter, "PortFECCorrectedSymbolCtr", 1184, 32},
        };
    }
    friend bool operator==(const PortExtendedSpeedsRsFecCounters&,
                           const PortExtendedSpeedsRsFecCounters&) = default;
};
static_assert(layout_is_sound<PortExtendedSpeedsRsFecCounters>());

}  // namespace softib::wire
