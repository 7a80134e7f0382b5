// SPDX-License-Identifier: BSD-2-Clause
// The counters that a port has for each lane or service level. All these attributes have the same
// layout: an array of counters, and a bit of CounterSelect for each.
#include "core/agent/pma_request.h"
#include "core/wire/pm/port_data_sl.h"
#include "core/wire/pm/port_sl_rcv_becn.h"
#include "core/wire/pm/port_sl_rcv_fecn.h"
#include "core/wire/pm/port_vl_xmit_time_cong.h"
#include "core/wire/pm/port_vl_xmit_wait_counters.h"
#include "core/wire/pm/sw_port_vl_congestion.h"

namespace softib::agent {

using counters::PerLane;

template <typename T, typename Element, std::size_t N>
std::uint16_t PerfAgent::by_lane(const Request& r, std::array<Element, N> T::* field,
                                 PerLane kind) {
    const auto asked = wire::parse<T>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return wire::mad_status::kInvalidField;
    }
    std::array<std::uint64_t, N> sum{};
    for (unsigned number = first; number <= last; ++number) {
        const auto port = static_cast<std::uint8_t>(number);
        const counters::LaneCounts now = r.source.read_lanes(r.id, port);
        if (r.set) {
            auto& base = lane_bases_[key_of(r.id, port)][kind];
            for (std::size_t i = 0; i < N; ++i) {
                if ((asked.counter_select >> i & 1) != 0) {
                    base[i] = now[kind][i] - (asked.*field)[i];
                }
            }
        }
        const auto base = lane_bases_.find(key_of(r.id, port));
        for (std::size_t i = 0; i < N; ++i) {
            sum[i] += now[kind][i] - (base != lane_bases_.end() ? base->second[kind][i] : 0);
        }
    }
    T answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    for (std::size_t i = 0; i < N; ++i) {
        (answer.*field)[i] = saturated<Element>(sum[i]);
    }
    return r.put(answer);
}

std::optional<std::uint16_t> PerfAgent::lane_counters(const Request& r,
                                                      wire::PmAttribute attribute) {
    using A = wire::PmAttribute;
    switch (attribute) {
        case A::kPortXmitDataSl:
            return by_lane(r, &wire::PortXmitDataSl::port_xmit_data_sl, PerLane::kXmitWords);
        case A::kPortRcvDataSl:
            return by_lane(r, &wire::PortRcvDataSl::port_rcv_data_sl, PerLane::kRcvWords);
        case A::kPortSlRcvFecn:
            return by_lane(r, &wire::PortSlRcvFecn::port_sl_rcv_fecn, PerLane::kRcvFecn);
        case A::kPortSlRcvBecn:
            return by_lane(r, &wire::PortSlRcvBecn::port_sl_rcv_becn, PerLane::kRcvBecn);
        case A::kPortVlXmitWaitCounters:
            return by_lane(r, &wire::PortVlXmitWaitCounters::port_vl_xmit_wait, PerLane::kXmitWait);
        case A::kSwPortVlCongestion:
            return by_lane(r, &wire::SwPortVlCongestion::sw_port_vl_congestion,
                           PerLane::kCongestionDiscards);
        case A::kPortVlXmitTimeCong:
            return by_lane(r, &wire::PortVlXmitTimeCong::port_vl_xmit_time_cong,
                           PerLane::kTimeCongested);
        default:
            return std::nullopt;
    }
}

}  // namespace softib::agent
