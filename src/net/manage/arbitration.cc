// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/arbitration.h"

#include "core/wire/sm/vl_arbitration_table.h"

namespace softib::net {

link::ArbitrationTable parse_arbitration(std::span<const std::uint8_t> blocks,
                                         std::uint8_t high_limit) {
    link::ArbitrationTable table;
    constexpr std::size_t kBlock = wire::VlArbitrationTable::kBytes;
    for (std::size_t block = 0; block < 4; ++block) {
        const auto entries = wire::parse<wire::VlArbitrationTable>(
            std::span<const std::uint8_t, kBlock>(blocks.subspan(block * kBlock, kBlock)));
        for (const wire::VlArbitrationEntry& entry : entries.entry) {
            if (entry.weight == 0) {
                continue;
            }
            auto& list = block < 2 ? table.low : table.high;
            auto& count = block < 2 ? table.low_count : table.high_count;
            list[count++] = {entry.vl, entry.weight};
        }
    }
    table.high_limit = high_limit;
    return table;
}

}  // namespace softib::net
