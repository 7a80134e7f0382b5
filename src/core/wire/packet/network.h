// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The global route header (IBA vol. 1, 8.3), which packets between subnets and multicasts have. It
// has the format of an IPv6 header.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::uint8_t kGrhIpVersion = 6;
inline constexpr std::uint8_t kGrhNextHeaderIba = 0x1B;

struct Grh {
    static constexpr std::size_t kBytes = 40;

    std::uint8_t ip_ver = kGrhIpVersion;
    std::uint8_t tclass = 0;
    std::uint32_t flow_label = 0;
    std::uint16_t pay_len = 0;  ///< In bytes, from the end of the GRH to the end of the ICRC.
    std::uint8_t nxt_hdr = kGrhNextHeaderIba;
    std::uint8_t hop_lmt = 0;
    Gid sgid{};
    Gid dgid{};

    static constexpr auto fields() {
        using T = Grh;
        return Fields{
            Field{&T::ip_ver, "IPVer", 0, 4},
            Field{&T::tclass, "TClass", 4, 8},
            Field{&T::flow_label, "FlowLabel", 12, 20}.hex(),
            Field{&T::pay_len, "PayLen", 32, 16},
            Field{&T::nxt_hdr, "NxtHdr", 48, 8}.hex(),
            Field{&T::hop_lmt, "HopLmt", 56, 8},
            Field{&T::sgid, "SGID", 64, 128},
            Field{&T::dgid, "DGID", 192, 128},
        };
    }
    friend bool operator==(const Grh&, const Grh&) = default;
};
static_assert(layout_is_sound<Grh>());

}  // namespace softib::wire
