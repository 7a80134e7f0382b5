// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// ClassPortInfo: the capabilities of an agent of a class, and the addresses for redirection and
// traps (IBA vol. 1, 13.4.8.1).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

/// Bits of CapabilityMask that all classes have.
namespace class_capability {
inline constexpr std::uint16_t kIsTrapSupported = 1 << 0;
inline constexpr std::uint16_t kIsGetSetNoticeSupported = 1 << 1;
}  // namespace class_capability

struct ClassPortInfo {
    static constexpr std::size_t kBytes = 72;

    std::uint8_t base_version = 1;
    std::uint8_t class_version = 1;
    std::uint16_t capability_mask = 0;
    std::uint32_t capability_mask2 = 0;
    std::uint8_t resp_time_value = 0;  ///< 4.096 us * 2^value.
    Gid redirect_gid{};
    std::uint8_t redirect_tc = 0;
    std::uint8_t redirect_sl = 0;
    std::uint32_t redirect_fl = 0;
    Lid redirect_lid{};
    PKey redirect_pkey{};
    Qpn redirect_qp{};
    QKey redirect_qkey{};
    Gid trap_gid{};
    std::uint8_t trap_tc = 0;
    std::uint8_t trap_sl = 0;
    std::uint32_t trap_fl = 0;
    Lid trap_lid{};
    PKey trap_pkey{};
    std::uint8_t trap_hl = 0;
    Qpn trap_qp{};
    QKey trap_qkey{};

    static constexpr auto fields() {
        using T = ClassPortInfo;
        return Fields{
            Field{&T::base_version, "BaseVersion", 0, 8},
            Field{&T::class_version, "ClassVersion", 8, 8},
            Field{&T::capability_mask, "CapabilityMask", 16, 16}.hex(),
            Field{&T::capability_mask2, "CapabilityMask2", 32, 27}.hex(),
            Field{&T::resp_time_value, "RespTimeValue", 59, 5},
            Field{&T::redirect_gid, "RedirectGID", 64, 128},
            Field{&T::redirect_tc, "RedirectTC", 192, 8},
            Field{&T::redirect_sl, "RedirectSL", 200, 4},
            Field{&T::redirect_fl, "RedirectFL", 204, 20}.hex(),
            Field{&T::redirect_lid, "RedirectLID", 224, 16},
            Field{&T::redirect_pkey, "RedirectP_Key", 240, 16},
            Field{&T::redirect_qp, "RedirectQP", 264, 24},
            Field{&T::redirect_qkey, "RedirectQ_Key", 288, 32},
            Field{&T::trap_gid, "TrapGID", 320, 128},
            Field{&T::trap_tc, "TrapTC", 448, 8},
            Field{&T::trap_sl, "TrapSL", 456, 4},
            Field{&T::trap_fl, "TrapFL", 460, 20}.hex(),
            Field{&T::trap_lid, "TrapLID", 480, 16},
            Field{&T::trap_pkey, "TrapP_Key", 496, 16},
            Field{&T::trap_hl, "TrapHL", 512, 8},
            Field{&T::trap_qp, "TrapQP", 520, 24},
            Field{&T::trap_qkey, "TrapQ_Key", 544, 32},
        };
    }
    friend bool operator==(const ClassPortInfo&, const ClassPortInfo&) = default;
};
static_assert(layout_is_sound<ClassPortInfo>());

}  // namespace softib::wire
