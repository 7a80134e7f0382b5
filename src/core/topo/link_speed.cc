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

std::string generation_names(const char* last_word) {
    std::string text;
    for (std::size_t i = 0; i < kGenerationRows.size(); ++i) {
        const bool last = i + 1 == kGenerationRows.size();
        text += i == 0 ? "" : last ? std::string(" ") + last_word + " " : ", ";
        text += kGenerationRows[i].name;
    }
    return text;
}

Generation fastest_of(std::uint8_t speed, std::uint8_t ext, std::uint8_t ext2) {
    // A slower generation has the same bits in the fields that it shares with faster ones, so the
    // field of the fastest bit decides alone.
    for (std::size_t i = kGenerationRows.size(); i-- > 0;) {
        const GenerationRow& row = kGenerationRows[i];
        const bool found = row.speed_ext2 != 0  ? (row.speed_ext2 & ext2) != 0
                           : row.speed_ext != 0 ? (row.speed_ext & ext) != 0
                                                : (row.speed & speed) != 0;
        if (found && row.generation != Generation::kFdr10) {  // PortInfo shows FDR10 as QDR.
            return row.generation;
        }
    }
    return Generation::kSdr;
}

LinkSpeed link_speed(Generation generation, Width width) {
    const GenerationRow& row = row_of(generation);
    return {.gbps = row.mbps * lanes(width) / 1000,
            .active_speed = row.active_speed,
            .active_width = static_cast<std::uint8_t>(width),
            .name = row.name,
            .mbps = row.mbps * lanes(width)};
}

}  // namespace softib::topo
