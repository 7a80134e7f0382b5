// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/link_speed.h"

namespace softib::topo {

std::uint32_t lanes(Width width) {
    switch (width) {
        case Width::k1x:
            return 1;
        case Width::k2x:
            return 2;
        case Width::k8x:
            return 8;
        case Width::k12x:
            return 12;
        case Width::k4x:
            break;
    }
    return 4;
}

LinkSpeed link_speed(Generation generation, Width width) {
    struct Lane {
        std::uint32_t mbps;
        std::uint32_t active_speed;
        const char* name;
    };
    const Lane lane = [&]() -> Lane {
        switch (generation) {
            case Generation::kSdr:
                return {2500, 1, "SDR"};
            case Generation::kDdr:
                return {5000, 2, "DDR"};
            case Generation::kQdr:
                return {10000, 4, "QDR"};
            case Generation::kFdr10:
                return {10000, 8, "FDR10"};
            case Generation::kFdr:
                return {14000, 16, "FDR"};
            case Generation::kEdr:
                return {25000, 32, "EDR"};
            case Generation::kHdr:
                return {50000, 64, "HDR"};
            case Generation::kXdr:
                return {200000, 256, "XDR"};
            case Generation::kNdr:
                break;
        }
        return {100000, 128, "NDR"};
    }();
    return {.gbps = lane.mbps * lanes(width) / 1000,
            .active_speed = lane.active_speed,
            .active_width = static_cast<std::uint8_t>(width),
            .name = lane.name,
            .mbps = lane.mbps * lanes(width)};
}

}  // namespace softib::topo
