// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/pma.h"

#include <algorithm>
#include <limits>

#include "core/wire/class_port_info.h"
#include "core/wire/pm.h"
#include "core/wire/port_counters.h"
#include "core/wire/port_counters_extended.h"
#include "core/wire/port_data_sl.h"
#include "core/wire/port_extended_speeds_counters.h"
#include "core/wire/port_flow_ctl_counters.h"
#include "core/wire/port_op_rcv_counters.h"
#include "core/wire/port_rcv_con_ctrl.h"
#include "core/wire/port_rcv_error_details.h"
#include "core/wire/port_samples_result.h"
#include "core/wire/port_sl_rcv_becn.h"
#include "core/wire/port_sl_rcv_fecn.h"
#include "core/wire/port_vl_op_data.h"
#include "core/wire/port_vl_op_packets.h"
#include "core/wire/port_vl_xmit_flow_ctl_update_errors.h"
#include "core/wire/port_vl_xmit_time_cong.h"
#include "core/wire/port_vl_xmit_wait_counters.h"
#include "core/wire/port_xmit_con_ctrl.h"
#include "core/wire/port_xmit_discard_details.h"
#include "core/wire/sw_port_vl_congestion.h"

namespace softib::agent {

namespace {

namespace status = wire::mad_status;

constexpr std::uint8_t kRespTimeValue = 16;
constexpr std::uint16_t kCapability =
    wire::pm_capability::kAllPortSelect | wire::pm_capability::kIsExtendedWidthSupported |
    wire::pm_capability::kPortCountersXmitWaitSupported |
    wire::pm_capability::kIsRSFECModeSupported | wire::pm_capability::kIsQP1DroppedSupported;

/// A counter of a narrower attribute stops at its largest value.
template <typename T>
T saturated(std::uint64_t value, unsigned bits = std::numeric_limits<T>::digits) {
    const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
    return static_cast<T>(std::min(value, most));
}

/// One counter in the common set, and which bit of an attribute's select field it has.
struct Counter {
    std::uint64_t PortCounts::*value;
    unsigned bit;
};

constexpr Counter kNarrow[] = {
    {&PortCounts::symbol_errors, 0},
    {&PortCounts::link_recoveries, 1},
    {&PortCounts::link_downed, 2},
    {&PortCounts::rcv_errors, 3},
    {&PortCounts::rcv_remote_physical_errors, 4},
    {&PortCounts::rcv_switch_relay_errors, 5},
    {&PortCounts::xmit_discards, 6},
    {&PortCounts::lifetime_discards, 6},
    {&PortCounts::hoq_lifetime_discards, 6},
    {&PortCounts::xmit_constraint_errors, 7},
    {&PortCounts::rcv_constraint_errors, 8},
    {&PortCounts::link_integrity_errors, 9},
    {&PortCounts::buffer_overruns, 10},
    {&PortCounts::vl15_dropped, 11},
    {&PortCounts::xmit_words, 12},
    {&PortCounts::rcv_words, 13},
    {&PortCounts::xmit_packets, 14},
    {&PortCounts::rcv_packets, 15},
    {&PortCounts::xmit_wait, 16},
    {&PortCounts::qp1_dropped, 17},
};

constexpr Counter kWide[] = {
    {&PortCounts::xmit_words, 0},
    {&PortCounts::rcv_words, 1},
    {&PortCounts::xmit_packets, 2},
    {&PortCounts::rcv_packets, 3},
    {&PortCounts::multicast_xmit_packets, 6},
    {&PortCounts::multicast_rcv_packets, 7},
    {&PortCounts::symbol_errors, 16},
    {&PortCounts::link_recoveries, 17},
    {&PortCounts::link_downed, 18},
    {&PortCounts::rcv_errors, 19},
    {&PortCounts::rcv_remote_physical_errors, 20},
    {&PortCounts::rcv_switch_relay_errors, 21},
    {&PortCounts::xmit_discards, 22},
    {&PortCounts::lifetime_discards, 22},
    {&PortCounts::hoq_lifetime_discards, 22},
    {&PortCounts::xmit_constraint_errors, 23},
    {&PortCounts::rcv_constraint_errors, 24},
    {&PortCounts::link_integrity_errors, 25},
    {&PortCounts::buffer_overruns, 26},
    {&PortCounts::vl15_dropped, 27},
    {&PortCounts::xmit_wait, 28},
    {&PortCounts::qp1_dropped, 29},
    {&PortCounts::rcv_fecn, 30},  // In no select field of this attribute.
    {&PortCounts::rcv_becn, 31},
};

/// Of PortRcvConCtrl.
constexpr Counter kCongestion[] = {
    {&PortCounts::rcv_fecn, 0},
    {&PortCounts::rcv_becn, 1},
};

std::uint64_t key_of(std::uint32_t node, std::uint8_t port) {
    return std::uint64_t{node} << 8 | port;
}

}  // namespace

PortCounts& PortCounts::operator+=(const PortCounts& other) {
    for (const Counter& counter : kWide) {
        this->*counter.value += other.*counter.value;
    }
    return *this;
}

/// One request with everything that its handlers need.
struct PerfAgent::Request {
    const Node& node;
    std::uint32_t id;
    CounterSource& source;
    std::span<std::uint8_t, wire::kPmDataBytes> data;
    bool set;

    /// The ports that a PortSelect means; false: there is no such port.
    bool ports(PortNum select, std::uint8_t& first, std::uint8_t& last) const {
        if (select.value == wire::kPmAllPorts) {
            first = 1;
            last = node.port_count();
            return true;
        }
        first = last = select.value;
        return select.value <= node.port_count() && (node.is_switch() || select.value != 0);
    }

    PortCounts count(std::uint8_t port) const {
        PortCounts counts = source.read(id, port);
        counts.link_downed = node.link_downed(port);
        counts.rcv_constraint_errors += node.constraint_errors(port).rcv;
        counts.xmit_constraint_errors += node.constraint_errors(port).xmit;
        return counts;
    }

    PortCounts since(const Bases& bases, std::uint8_t first, std::uint8_t last) const {
        PortCounts sum;
        for (unsigned port = first; port <= last; ++port) {
            PortCounts counts = count(static_cast<std::uint8_t>(port));
            if (const auto base = bases.find(key_of(id, static_cast<std::uint8_t>(port)));
                base != bases.end()) {
                for (const Counter& counter : kWide) {
                    counts.*counter.value -= base->second.*counter.value;
                }
            }
            sum += counts;
        }
        return sum;
    }

    template <std::size_t N>
    void reset(Bases& bases, std::uint8_t first, std::uint8_t last, std::uint32_t select,
               const Counter (&counters)[N], const PortCounts& wanted) const {
        for (unsigned port = first; port <= last; ++port) {
            const PortCounts now = count(static_cast<std::uint8_t>(port));
            PortCounts& base = bases[key_of(id, static_cast<std::uint8_t>(port))];
            for (const Counter& counter : counters) {
                if ((select >> counter.bit & 1) != 0) {
                    base.*counter.value = now.*counter.value - wanted.*counter.value;
                }
            }
        }
    }

    template <wire::Attribute T>
    std::uint16_t put(const T& value) const {
        std::ranges::fill(data, std::uint8_t{0});
        wire::emit(value, data);
        return status::kOk;
    }

    /// Counters of events that cannot happen here: zero, and a Set changes nothing.
    template <wire::Attribute T>
    std::uint16_t zeros() const {
        const auto asked = wire::parse<T>(data);
        std::uint8_t first = 0;
        std::uint8_t last = 0;
        if (!ports(asked.port_select, first, last)) {
            return status::kInvalidField;
        }
        T answer;
        answer.port_select = asked.port_select;
        answer.counter_select = asked.counter_select;
        return put(answer);
    }
};

std::uint16_t PerfAgent::port_counters(const Request& r) {
    const auto asked = wire::parse<wire::PortCounters>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    if (r.set) {
        PortCounts wanted;
        wanted.xmit_words = asked.port_xmit_data;
        wanted.rcv_words = asked.port_rcv_data;
        wanted.xmit_packets = asked.port_xmit_pkts;
        wanted.rcv_packets = asked.port_rcv_pkts;
        r.reset(narrow_, first, last, asked.counter_select | std::uint32_t{asked.counter_select2} << 16,
                kNarrow, wanted);
    }
    const PortCounts sum = r.since(narrow_, first, last);
    wire::PortCounters answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    answer.counter_select2 = asked.counter_select2;
    answer.symbol_error_counter = saturated<std::uint16_t>(sum.symbol_errors);
    answer.link_error_recovery_counter = saturated<std::uint8_t>(sum.link_recoveries);
    answer.link_downed_counter = saturated<std::uint8_t>(sum.link_downed);
    answer.port_rcv_errors = saturated<std::uint16_t>(sum.rcv_errors);
    answer.port_rcv_remote_physical_errors =
        saturated<std::uint16_t>(sum.rcv_remote_physical_errors);
    answer.port_rcv_switch_relay_errors = saturated<std::uint16_t>(sum.rcv_switch_relay_errors);
    answer.port_xmit_discards = saturated<std::uint16_t>(sum.xmit_discards);
    answer.port_xmit_constraint_errors = saturated<std::uint8_t>(sum.xmit_constraint_errors);
    answer.port_rcv_constraint_errors = saturated<std::uint8_t>(sum.rcv_constraint_errors);
    answer.local_link_integrity_errors = saturated<std::uint8_t>(sum.link_integrity_errors, 4);
    answer.excessive_buffer_overrun_errors = saturated<std::uint8_t>(sum.buffer_overruns, 4);
    answer.qp1_dropped = saturated<std::uint16_t>(sum.qp1_dropped);
    answer.vl15_dropped = saturated<std::uint16_t>(sum.vl15_dropped);
    answer.port_xmit_data = saturated<std::uint32_t>(sum.xmit_words);
    answer.port_rcv_data = saturated<std::uint32_t>(sum.rcv_words);
    answer.port_xmit_pkts = saturated<std::uint32_t>(sum.xmit_packets);
    answer.port_rcv_pkts = saturated<std::uint32_t>(sum.rcv_packets);
    answer.port_xmit_wait = saturated<std::uint32_t>(sum.xmit_wait);
    return r.put(answer);
}

std::uint16_t PerfAgent::port_counters_extended(const Request& r) {
    const auto asked = wire::parse<wire::PortCountersExtended>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    if (r.set) {
        r.reset(wide_, first, last, asked.counter_select | asked.counter_select2 << 16, kWide, {});
    }
    const PortCounts sum = r.since(wide_, first, last);
    wire::PortCountersExtended answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    answer.counter_select2 = asked.counter_select2;
    answer.port_xmit_data = sum.xmit_words;
    answer.port_rcv_data = sum.rcv_words;
    answer.port_xmit_pkts = sum.xmit_packets;
    answer.port_rcv_pkts = sum.rcv_packets;
    answer.port_unicast_xmit_pkts = sum.xmit_packets - sum.multicast_xmit_packets;
    answer.port_unicast_rcv_pkts = sum.rcv_packets - sum.multicast_rcv_packets;
    answer.port_multicast_xmit_pkts = sum.multicast_xmit_packets;
    answer.port_multicast_rcv_pkts = sum.multicast_rcv_packets;
    answer.symbol_error_counter = sum.symbol_errors;
    answer.link_error_recovery_counter = sum.link_recoveries;
    answer.link_downed_counter = sum.link_downed;
    answer.port_rcv_errors = sum.rcv_errors;
    answer.port_rcv_remote_physical_errors = sum.rcv_remote_physical_errors;
    answer.port_rcv_switch_relay_errors = sum.rcv_switch_relay_errors;
    answer.port_xmit_discards = sum.xmit_discards;
    answer.port_xmit_constraint_errors = sum.xmit_constraint_errors;
    answer.port_rcv_constraint_errors = sum.rcv_constraint_errors;
    answer.local_link_integrity_errors = sum.link_integrity_errors;
    answer.excessive_buffer_overrun_errors = sum.buffer_overruns;
    answer.vl15_dropped = sum.vl15_dropped;
    answer.port_xmit_wait = sum.xmit_wait;
    answer.qp1_dropped = sum.qp1_dropped;
    return r.put(answer);
}

/// A packet is only ever discarded here because its out port is not active.
std::uint16_t PerfAgent::discard_details(const Request& r) {
    const auto asked = wire::parse<wire::PortXmitDiscardDetails>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    wire::PortXmitDiscardDetails answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    const PortCounts sum = r.since(narrow_, first, last);
    answer.port_sw_lifetime_limit_discards = saturated<std::uint16_t>(sum.lifetime_discards);
    answer.port_sw_hoq_lifetime_limit_discards =
        saturated<std::uint16_t>(sum.hoq_lifetime_discards);
    answer.port_inactive_discards = saturated<std::uint16_t>(
        sum.xmit_discards - sum.lifetime_discards - sum.hoq_lifetime_discards);
    return r.put(answer);
}

std::uint16_t PerfAgent::congestion_received(const Request& r) {
    const auto asked = wire::parse<wire::PortRcvConCtrl>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    if (r.set) {
        PortCounts wanted;
        wanted.rcv_fecn = asked.port_pkt_rcv_fecn;
        wanted.rcv_becn = asked.port_pkt_rcv_becn;
        r.reset(narrow_, first, last, asked.counter_select, kCongestion, wanted);
    }
    const PortCounts sum = r.since(narrow_, first, last);
    wire::PortRcvConCtrl answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    answer.port_pkt_rcv_fecn = saturated<std::uint32_t>(sum.rcv_fecn);
    answer.port_pkt_rcv_becn = saturated<std::uint32_t>(sum.rcv_becn);
    return r.put(answer);
}

std::uint16_t PerfAgent::samples_control(const Request& r) {
    const auto asked = wire::parse<wire::PortSamplesControl>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    Sampling& sampling = samplings_[key_of(r.id, asked.port_select.value)];
    if (r.set) {
        sampling.control = asked;
        sampling.start = r.since({}, first, last);
    }
    wire::PortSamplesControl answer = sampling.control;
    answer.port_select = asked.port_select;
    answer.op_code = asked.op_code;
    answer.counter_width = 4;  // 32 bits.
    answer.sample_status = wire::SampleStatus{};
    return r.put(answer);
}

std::uint16_t PerfAgent::samples_result(const Request& r) {
    wire::PortSamplesResult answer;
    // A result names no port: the one whose control was written last with this tag.
    const auto asked = wire::parse<wire::PortSamplesResult>(r.data);
    for (const auto& [key, sampling] : samplings_) {
        if (key >> 8 != r.id || sampling.control.tag != asked.tag) {
            continue;
        }
        std::uint8_t first = 0;
        std::uint8_t last = 0;
        if (!r.ports(sampling.control.port_select, first, last)) {
            continue;
        }
        const PortCounts now = r.since({}, first, last);
        constexpr std::uint64_t PortCounts::*kSampled[] = {
            nullptr,
            &PortCounts::xmit_words,
            &PortCounts::rcv_words,
            &PortCounts::xmit_packets,
            &PortCounts::rcv_packets,
            &PortCounts::xmit_wait,
        };
        for (std::size_t i = 0; i < answer.counter.size(); ++i) {
            const std::uint16_t select = sampling.control.counter_select[i];
            if (select > 0 && select < std::size(kSampled)) {
                answer.counter[i] = saturated<std::uint32_t>(now.*kSampled[select] -
                                                             sampling.start.*kSampled[select]);
            }
        }
    }
    answer.tag = asked.tag;
    return r.put(answer);
}

std::optional<wire::MadBytes> PerfAgent::answer(const Node& node, std::uint32_t id,
                                                const wire::MadBytes& request,
                                                CounterSource& counters) {
    const wire::Mad<const std::uint8_t> header(request);
    if (header.mgmt_class() != wire::MgmtClass::kPerf ||
        (header.method() != wire::Method::kGet && header.method() != wire::Method::kSet)) {
        return std::nullopt;
    }
    counters.refresh();
    wire::MadBytes answer = request;
    const Request r{node, id, counters, wire::pm_data(answer),
                    header.method() == wire::Method::kSet};
    std::uint16_t result = status::kOk;
    if (header.base_version() != wire::kMadBaseVersion ||
        header.class_version() != wire::kPmClassVersion) {
        result = status::kUnsupportedClass;
    } else {
        switch (static_cast<wire::PmAttribute>(header.attribute_id())) {
            case wire::PmAttribute::kClassPortInfo: {
                wire::ClassPortInfo info;
                info.capability_mask = kCapability;
                info.capability_mask2 =
                    wire::pm_capability2::kIsAdditionalPortCountersExtendedSupported;
                info.resp_time_value = kRespTimeValue;
                result = r.put(info);
                break;
            }
            case wire::PmAttribute::kPortCounters:
                result = port_counters(r);
                break;
            case wire::PmAttribute::kPortCountersExtended:
                result = port_counters_extended(r);
                break;
            case wire::PmAttribute::kPortXmitDiscardDetails:
                result = discard_details(r);
                break;
            case wire::PmAttribute::kPortSamplesControl:
                result = samples_control(r);
                break;
            case wire::PmAttribute::kPortSamplesResult:
                result = samples_result(r);
                break;
            case wire::PmAttribute::kPortRcvErrorDetails:
                result = r.zeros<wire::PortRcvErrorDetails>();
                break;
            case wire::PmAttribute::kPortOpRcvCounters:
                result = r.zeros<wire::PortOpRcvCounters>();
                break;
            case wire::PmAttribute::kPortFlowCtlCounters:
                result = r.zeros<wire::PortFlowCtlCounters>();
                break;
            case wire::PmAttribute::kPortVlOpPackets:
                result = r.zeros<wire::PortVlOpPackets>();
                break;
            case wire::PmAttribute::kPortVlOpData:
                result = r.zeros<wire::PortVlOpData>();
                break;
            case wire::PmAttribute::kPortVlXmitFlowCtlUpdateErrors:
                result = r.zeros<wire::PortVlXmitFlowCtlUpdateErrors>();
                break;
            case wire::PmAttribute::kPortVlXmitWaitCounters:
                result = r.zeros<wire::PortVlXmitWaitCounters>();
                break;
            case wire::PmAttribute::kPortExtendedSpeedsCounters:
                result = r.zeros<wire::PortExtendedSpeedsCounters>();
                break;
            case wire::PmAttribute::kSwPortVlCongestion:
                result = r.zeros<wire::SwPortVlCongestion>();
                break;
            case wire::PmAttribute::kPortRcvConCtrl:
                result = congestion_received(r);
                break;
            case wire::PmAttribute::kPortSlRcvFecn:
                result = r.zeros<wire::PortSlRcvFecn>();
                break;
            case wire::PmAttribute::kPortSlRcvBecn:
                result = r.zeros<wire::PortSlRcvBecn>();
                break;
            case wire::PmAttribute::kPortXmitConCtrl:
                result = r.zeros<wire::PortXmitConCtrl>();
                break;
            case wire::PmAttribute::kPortVlXmitTimeCong:
                result = r.zeros<wire::PortVlXmitTimeCong>();
                break;
            case wire::PmAttribute::kPortXmitDataSl:
            case wire::PmAttribute::kPortRcvDataSl:
                result = r.zeros<wire::PortRcvDataSl>();
                break;
            default:
                result = status::kUnsupportedAttribute;
        }
    }
    const wire::Mad<std::uint8_t> out(answer);
    out.set_method(wire::Method::kGetResp);
    out.set_status(result);
    return answer;
}

}  // namespace softib::agent
