// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The formats of the link layer: the header in front of every packet (IBA vol. 1, 7.7), and the
// flow control packets by which a receiver grants credits (7.9.4).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::uint8_t kVlManagement = 15;

/// LNH: the kind of header that follows the LRH.
enum class LinkNextHeader : std::uint8_t { kRaw = 0, kRawIpv6 = 1, kLocal = 2, kGlobal = 3 };

struct Lrh {
    static constexpr std::size_t kBytes = 8;

    std::uint8_t vl = 0;
    std::uint8_t lver = 0;
    std::uint8_t sl = 0;
    LinkNextHeader lnh = LinkNextHeader::kLocal;
    Lid dlid{};
    std::uint16_t pkt_len = 0;  ///< In words of four bytes, from the LRH to the ICRC.
    Lid slid{};

    static constexpr auto fields() {
        using T = Lrh;
        return Fields{
            Field{&T::vl, "VL", 0, 4},       Field{&T::lver, "LVer", 4, 4},
            Field{&T::sl, "SL", 8, 4},       Field{&T::lnh, "LNH", 14, 2},
            Field{&T::dlid, "DLID", 16, 16}, Field{&T::pkt_len, "PktLen", 37, 11},
            Field{&T::slid, "SLID", 48, 16},
        };
    }
    friend bool operator==(const Lrh&, const Lrh&) = default;
};
static_assert(layout_is_sound<Lrh>());

enum class FlowControlOp : std::uint8_t { kNormal = 0, kInit = 1 };

struct FlowControlPacket {
    static constexpr std::size_t kBytes = 6;

    FlowControlOp op{};
    std::uint16_t fctbs = 0;  ///< Blocks of 64 bytes sent so far, modulo 4096.
    std::uint8_t vl = 0;
    std::uint16_t fccl = 0;   ///< The FCTBS up to which the other side may send.
    std::uint16_t lpcrc = 0;  ///< The CRC of the four bytes before it, computed like the VCRC.

    static constexpr auto fields() {
        using T = FlowControlPacket;
        return Fields{
            Field{&T::op, "Op", 0, 4},
            Field{&T::fctbs, "FCTBS", 4, 12},
            Field{&T::vl, "VL", 16, 4},
            Field{&T::fccl, "FCCL", 20, 12},
            Field{&T::lpcrc, "LPCRC", 32, 16}.hex(),
        };
    }
    friend bool operator==(const FlowControlPacket&, const FlowControlPacket&) = default;
};
static_assert(layout_is_sound<FlowControlPacket>());

}  // namespace softib::wire
