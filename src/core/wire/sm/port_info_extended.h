// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortInfoExtended: forward error correction, by speed (IBA vol. 1, 14.2.5.19).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::uint32_t kIsFecModeSupported = 1;  ///< In CapMask.

enum class FecMode : std::uint16_t { kNone = 0, kFireCode = 1, kReedSolomon = 2, kLowLatency = 3 };

struct PortInfoExtended {
    static constexpr std::size_t kBytes = 64;

    std::uint32_t cap_mask = 0;
    FecMode fec_mode_active{};
    std::uint16_t fdr_fec_mode_supported = 0;
    std::uint16_t fdr_fec_mode_enabled = 0;
    std::uint16_t edr_fec_mode_supported = 0;
    std::uint16_t edr_fec_mode_enabled = 0;
    std::uint16_t hdr_fec_mode_supported = 0;
    std::uint16_t hdr_fec_mode_enabled = 0;
    std::uint16_t ndr_fec_mode_supported = 0;
    std::uint16_t ndr_fec_mode_enabled = 0;

    static constexpr auto fields() {
        using T = PortInfoExtended;
        return Fields{
            Field{&T::cap_mask, "CapMask", 0, 32}.hex(),
            Field{&T::fec_mode_active, "FECModeActive", 32, 16},
            Field{&T::fdr_fec_mode_supported, "FDRFECModeSupported", 48, 16}.hex(),
            Field{&T::fdr_fec_mode_enabled, "FDRFECModeEnabled", 64, 16}.hex(),
            Field{&T::edr_fec_mode_supported, "EDRFECModeSupported", 80, 16}.hex(),
            Field{&T::edr_fec_mode_enabled, "EDRFECModeEnabled", 96, 16}.hex(),
            Field{&T::hdr_fec_mode_supported, "HDRFECModeSupported", 112, 16}.hex(),
            Field{&T::hdr_fec_mode_enabled, "HDRFECModeEnabled", 128, 16}.hex(),
            Field{&T::ndr_fec_mode_supported, "NDRFECModeSupported", 144, 16}.hex(),
            Field{&T::ndr_fec_mode_enabled, "NDRFECModeEnabled", 160, 16}.hex(),
        };
    }
    friend bool operator==(const PortInfoExtended&, const PortInfoExtended&) = default;
};
static_assert(layout_is_sound<PortInfoExtended>());

}  // namespace softib::wire
