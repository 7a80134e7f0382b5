// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/rate.h"

namespace softib::link {

using topo::Generation;

LaneRate lane_rate(Generation generation) {
    switch (generation) {
        case Generation::kSdr:
            return {2'500'000, 8, 10, 1, 1};
        case Generation::kDdr:
            return {5'000'000, 8, 10, 1, 1};
        case Generation::kQdr:
            return {10'000'000, 8, 10, 1, 1};
        case Generation::kFdr10:
            return {10'312'500, 64, 66, 1, 1};
        case Generation::kFdr:
            return {14'062'500, 64, 66, 1, 1};
        case Generation::kEdr:
            return {25'781'250, 64, 66, 1, 1};
        // HDR and later have 256b/257b and Reed-Solomon (544, 514), which leave 50 Gb/s of 53.125.
        case Generation::kHdr:
            return {53'125'000, 256, 257, 514, 544};
        case Generation::kNdr:
            return {106'250'000, 256, 257, 514, 544};
        case Generation::kXdr:
            return {212'500'000, 256, 257, 514, 544};
    }
    return {2'500'000, 8, 10, 1, 1};
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
