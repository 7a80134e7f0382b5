// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/packets.h"

#include <bit>

#include "core/base/check.h"

namespace softib::hca {

WireFormat make_wire_format(QpType type, bool with_grh, std::uint32_t mtu_bytes) {
    SOFTIB_CHECK(std::has_single_bit(mtu_bytes) && mtu_bytes >= 256 && mtu_bytes <= 4096);
    namespace words = header_words;
    const auto common = static_cast<std::uint8_t>(words::kLrh + (with_grh ? words::kGrh : 0) +
                                                  words::kBth + words::kIcrc);
    // Every XRC request packet names the shared receive queue that it is for; responses do not.
    const bool xrc = type == QpType::kXrcSend || type == QpType::kXrcRecv;
    const std::uint8_t extra =
        type == QpType::kUd ? words::kDeth : (xrc ? words::kXrceth : std::uint8_t{0});
    return {.mtu_bytes = mtu_bytes,
            .mtu_log2 = static_cast<std::uint8_t>(std::countr_zero(mtu_bytes)),
            .request_words = static_cast<std::uint8_t>(common + extra),
            .response_words = common};
}

}  // namespace softib::hca
