// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PathRecord: a path between two ports, or a query for paths (IBA vol. 1, 15.2.5.16).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/format/selector.h"

namespace softib::wire {

struct PathRecord {
    static constexpr std::size_t kBytes = 64;

    std::uint64_t service_id = 0;
    Gid dgid{};
    Gid sgid{};
    Lid dlid{};
    Lid slid{};
    bool raw_traffic = false;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t tclass = 0;
    bool reversible = false;
    std::uint8_t numb_path = 0;  ///< In a query: the most records wanted.
    PKey pkey{};
    std::uint16_t qos_class = 0;
    std::uint8_t sl = 0;
    Selector mtu_selector = Selector::kExactly;
    std::uint8_t mtu = 0;
    Selector rate_selector = Selector::kExactly;
    std::uint8_t rate = 0;
    Selector packet_life_time_selector = Selector::kExactly;
    std::uint8_t packet_life_time = 0;  ///< 4.096 us * 2^value.
    std::uint8_t preference = 0;

    static constexpr auto fields() {
        using T = PathRecord;
        return Fields{
            Field{&T::service_id, "ServiceID", 0, 64, 0}.spans(2).hex(),
            Field{&T::dgid, "DGID", 64, 128, 2},
            Field{&T::sgid, "SGID", 192, 128, 3},
            Field{&T::dlid, "DLID", 320, 16, 4},
            Field{&T::slid, "SLID", 336, 16, 5},
            Field{&T::raw_traffic, "RawTraffic", 352, 1, 6},
            Field{&T::flow_label, "FlowLabel", 356, 20, 8}.hex(),
            Field{&T::hop_limit, "HopLimit", 376, 8, 9},
            Field{&T::tclass, "TClass", 384, 8, 10},
            Field{&T::reversible, "Reversible", 392, 1, 11},
            Field{&T::numb_path, "NumbPath", 393, 7, 12},
            Field{&T::pkey, "P_Key", 400, 16, 13},
            Field{&T::qos_class, "QoSClass", 416, 12, 14},
            Field{&T::sl, "SL", 428, 4, 15},
            Field{&T::mtu_selector, "MtuSelector", 432, 2, 16},
            Field{&T::mtu, "Mtu", 434, 6, 17},
            Field{&T::rate_selector, "RateSelector", 440, 2, 18},
            Field{&T::rate, "Rate", 442, 6, 19},
            Field{&T::packet_life_time_selector, "PacketLifeTimeSelector", 448, 2, 20},
            Field{&T::packet_life_time, "PacketLifeTime", 450, 6, 21},
            Field{&T::preference, "Preference", 456, 8, 22},
        };
    }
    friend bool operator==(const PathRecord&, const PathRecord&) = default;
};
static_assert(layout_is_sound<PathRecord>());

}  // namespace softib::wire
