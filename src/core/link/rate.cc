// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/rate.h"

namespace softib::link {

using topo::Generation;

LaneRate lane_rate(Generation generation) {
    const topo::GenerationRow& row = topo::row_of(generation);
    return {row.signalling_kbps, row.code_payload, row.code_total, row.fec_payload, row.fec_total};
}

std::uint32_t ps_per_block(Generation generation, topo::Width width) {
    const LaneRate rate = lane_rate(generation);
    // 64 bytes are 512 bits; one bit at 1 kb/s takes 10^9 ps.
    const std::uint64_t dividend =
        512ULL * 1'000'000'000ULL * rate.code_total / rate.code_payload * rate.fec_total;
    const std::uint64_t divisor = rate.signalling_kbps * topo::lanes(width) * rate.fec_payload;
    return static_cast<std::uint32_t>((dividend + divisor / 2) / divisor);
}

}  // namespace softib::link
