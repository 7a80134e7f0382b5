// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/pma.h"

#include "core/agent/pma_request.h"
#include "core/mad/response_time.h"
#include "core/wire/class_port_info.h"
#include "core/wire/port_counters.h"
#include "core/wire/port_counters_extended.h"
#include "core/wire/port_extended_speeds_counters.h"
#include "core/wire/port_flow_ctl_counters.h"
#include "core/wire/port_op_rcv_counters.h"
#include "core/wire/port_rcv_con_ctrl.h"
#include "core/wire/port_rcv_error_details.h"
#include "core/wire/port_samples_result.h"
#include "core/wire/port_vl_op_data.h"
#include "core/wire/port_vl_op_packets.h"
#include "core/wire/port_vl_xmit_flow_ctl_update_errors.h"
#include "core/wire/port_xmit_con_ctrl.h"
#include "core/wire/port_xmit_discard_details.h"

namespace softib::agent {

namespace {

namespace status = wire::mad_status;

constexpr std::uint16_t kCapability =
    wire::pm_capability::kAllPortSelect | wire::pm_capability::kIsExtendedWidthSupported |
    wire::pm_capability::kPortCountersXmitWaitSupported |
    wire::pm_capability::kIsRSFECModeSupported | wire::pm_capability::kIsQP1DroppedSupported;

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
};

/// Of PortRcvConCtrl.
constexpr Counter kCongestion[] = {
    {&PortCounts::rcv_fecn, 0},
    {&PortCounts::rcv_becn, 1},
};

constexpr Counter kTimeCongested[] = {
    {&PortCounts::time_congested, 0},
};

/// Of PortRcvErrorDetails.
constexpr Counter kErrorDetails[] = {
    {&PortCounts::local_physical_errors, 0}, {&PortCounts::malformed_packet_errors, 1},
    {&PortCounts::dlid_mapping_errors, 3},   {&PortCounts::vl_mapping_errors, 4},
    {&PortCounts::looping_errors, 5},
};

}  // namespace

PortCounts& PortCounts::operator+=(const PortCounts& other) {
    for (const auto counter : kAllCounters) {
        this->*counter += other.*counter;
    }
    return *this;
}

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
        r.reset(narrow_, first, last,
                asked.counter_select | std::uint32_t{asked.counter_select2} << 16, kNarrow, wanted);
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

std::uint16_t PerfAgent::congestion_sent(const Request& r) {
    const auto asked = wire::parse<wire::PortXmitConCtrl>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    if (r.set) {
        PortCounts wanted;
        wanted.time_congested = asked.port_xmit_time_cong;
        r.reset(narrow_, first, last, asked.counter_select, kTimeCongested, wanted);
    }
    wire::PortXmitConCtrl answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    answer.port_xmit_time_cong =
        saturated<std::uint32_t>(r.since(narrow_, first, last).time_congested);
    return r.put(answer);
}

std::uint16_t PerfAgent::error_details(const Request& r) {
    const auto asked = wire::parse<wire::PortRcvErrorDetails>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    if (r.set) {
        PortCounts wanted;
        wanted.local_physical_errors = asked.port_local_physical_errors;
        wanted.malformed_packet_errors = asked.port_malformed_packet_errors;
        wanted.dlid_mapping_errors = asked.port_dlid_mapping_errors;
        wanted.vl_mapping_errors = asked.port_vl_mapping_errors;
        wanted.looping_errors = asked.port_looping_errors;
        r.reset(narrow_, first, last, asked.counter_select, kErrorDetails, wanted);
    }
    const PortCounts sum = r.since(narrow_, first, last);
    wire::PortRcvErrorDetails answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    answer.port_local_physical_errors = saturated<std::uint16_t>(sum.local_physical_errors);
    answer.port_malformed_packet_errors = saturated<std::uint16_t>(sum.malformed_packet_errors);
    answer.port_buffer_overrun_errors = saturated<std::uint16_t>(sum.buffer_overruns);
    answer.port_dlid_mapping_errors = saturated<std::uint16_t>(sum.dlid_mapping_errors);
    answer.port_vl_mapping_errors = saturated<std::uint16_t>(sum.vl_mapping_errors);
    answer.port_looping_errors = saturated<std::uint16_t>(sum.looping_errors);
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
    // A result names no port: the lowest port whose control was written with this tag answers.
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
        constexpr std::uint64_t PortCounts::* kSampled[] = {
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
                info.resp_time_value = mad::kRespTimeValue;
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
                result = error_details(r);
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
            case wire::PmAttribute::kPortExtendedSpeedsCounters:
                result = r.zeros<wire::PortExtendedSpeedsCounters>();
                break;
            case wire::PmAttribute::kPortRcvConCtrl:
                result = congestion_received(r);
                break;
            case wire::PmAttribute::kPortXmitConCtrl:
                result = congestion_sent(r);
                break;
            default:
                result = lane_counters(r, static_cast<wire::PmAttribute>(header.attribute_id()))
                             .value_or(status::kUnsupportedAttribute);
        }
    }
    const wire::Mad<std::uint8_t> out(answer);
    out.set_method(wire::Method::kGetResp);
    out.set_status(result);
    return answer;
}

}  // namespace softib::agent
