// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MultiPathRecord: a query for paths between two sets of ports (IBA vol. 1, 15.2.5.20). The record
// is followed by SGIDCount source GIDs and DGIDCount destination GIDs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/format/selector.h"

namespace softib::wire {

struct MultiPathRecord {
    static constexpr std::size_t kBytes = 24;

    bool raw_traffic = false;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t tclass = 0;
    bool reversible = false;
    std::uint8_t numb_path = 0;
    PKey pkey{};
    std::uint16_t qos_class = 0;
    std::uint8_t sl = 0;
    Selector mtu_selector = Selector::kExactly;
    std::uint8_t mtu = 0;
    Selector rate_selector = Selector::kExactly;
    std::uint8_t rate = 0;
    Selector packet_life_time_selector = Selector::kExactly;
    std::uint8_t packet_life_time = 0;
    std::uint8_t service_id_8msb = 0;
    std::uint8_t independence_selector = 0;
    std::uint8_t sgid_count = 0;
    std::uint8_t dgid_count = 0;
    std::uint64_t service_id_56lsb = 0;

    static constexpr auto fields() {
        using T = MultiPathRecord;
        return Fields{
            Field{&T::raw_traffic, "RawTraffic", 0, 1, 0},
            Field{&T::flow_label, "FlowLabel", 4, 20, 2}.hex(),
            Field{&T::hop_limit, "HopLimit", 24, 8, 3},
            Field{&T::tclass, "TClass", 32, 8, 4},
            Field{&T::reversible, "Reversible", 40, 1, 5},
            Field{&T::numb_path, "NumbPath", 41, 7, 6},
            Field{&T::pkey, "P_Key", 48, 16, 7},
            Field{&T::qos_class, "QoSClass", 64, 12, 8},
            Field{&T::sl, "SL", 76, 4, 9},
            Field{&T::mtu_selector, "MtuSelector", 80, 2, 10},
            Field{&T::mtu, "Mtu", 82, 6, 11},
            Field{&T::rate_selector, "RateSelector", 88, 2, 12},
            Field{&T::rate, "Rate", 90, 6, 13},
            Field{&T::packet_life_time_selector, "PacketLifeTimeSelector", 96, 2, 14},
            Field{&T::packet_life_time, "PacketLifeTime", 98, 6, 15},
            Field{&T::service_id_8msb, "ServiceID8MSB", 104, 8, 16}.hex(),
            Field{&T::independence_selector, "IndependenceSelector", 112, 2, 17},
            Field{&T::sgid_count, "SGIDCount", 120, 8, 19},
            Field{&T::dgid_count, "DGIDCount", 128, 8, 20},
            Field{&T::service_id_56lsb, "ServiceID56LSB", 136, 56, 21}.hex(),
        };
    }
    friend bool operator==(const MultiPathRecord&, const MultiPathRecord&) = default;
};
static_assert(layout_is_sound<MultiPathRecord>());

/// Returns the GIDs that follow the record, first the sources, then the destinations. `bytes`
/// begins with the record. Returns std::nullopt if there are too few bytes.
inline std::optional<std::vector<Gid>> parse_multi_path_gids(const MultiPathRecord& record,
                                                             std::span<const std::uint8_t> bytes) {
    const std::size_t count = std::size_t{record.sgid_count} + record.dgid_count;
    if (bytes.size() < MultiPathRecord::kBytes + count * sizeof(Gid)) {
        return std::nullopt;
    }
    std::vector<Gid> gids(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = bytes.subspan(MultiPathRecord::kBytes + i * sizeof(Gid), sizeof(Gid));
        std::ranges::copy(at, gids[i].bytes.begin());
    }
    return gids;
}

}  // namespace softib::wire
