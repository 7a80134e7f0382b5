// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/pma.h"

#include <concepts>
#include <type_traits>

#include "core/agent/pma_request.h"
#include "core/mad/response_time.h"
#include "core/wire/mad/class_port_info.h"
#include "core/wire/pm/port_counters.h"
#include "core/wire/pm/port_counters_extended.h"
#include "core/wire/pm/port_extended_speeds_counters.h"
#include "core/wire/pm/port_flow_ctl_counters.h"
#include "core/wire/pm/port_op_rcv_counters.h"
#include "core/wire/pm/port_rcv_con_ctrl.h"
#include "core/wire/pm/port_rcv_error_details.h"
#include "core/wire/pm/port_samples_result.h"
#include "core/wire/pm/port_vl_op_data.h"
#include "core/wire/pm/port_vl_op_packets.h"
#include "core/wire/pm/port_vl_xmit_flow_ctl_update_errors.h"
#include "core/wire/pm/port_xmit_con_ctrl.h"
#include "core/wire/pm/port_xmit_discard_details.h"

namespace softib::agent {

/// A counter of kPortCounters as one field of an attribute shows it.
struct ShownCounter {
    const counters::PortCounter<std::uint64_t>* row = nullptr;  ///< Null: the field is no counter.
    std::size_t base = 0;                                       ///< Index of the field in Bases.
    unsigned select = 0;
};

namespace {

namespace status = wire::mad_status;

constexpr std::uint16_t kCapability =
    wire::pm_capability::kAllPortSelect | wire::pm_capability::kIsExtendedWidthSupported |
    wire::pm_capability::kPortCountersXmitWaitSupported |
    wire::pm_capability::kIsRSFECModeSupported | wire::pm_capability::kIsQP1DroppedSupported;

constexpr ShownCounter find_shown(wire::PmAttribute attribute, std::string_view field) {
    for (std::size_t i = 0; i < counters::kPortCounters.size(); ++i) {
        const auto& row = counters::kPortCounters[i];
        for (std::size_t j = 0; j < row.fields.size(); ++j) {
            if (row.fields[j].attribute == attribute && row.fields[j].name == field) {
                return {&row, i * counters::kFieldsPerCounter + j, row.fields[j].select};
            }
        }
    }
    return {};
}

/// The counter that each field of an attribute shows.
template <wire::Attribute T, wire::PmAttribute kAttribute>
constexpr auto kShown = [] {
    std::array<ShownCounter, decltype(T::fields())::kCount> all{};
    wire::kFields<T>.apply([&all](const auto&... field) {
        std::size_t i = 0;
        ((all[i++] = find_shown(kAttribute, field.name)), ...);
    });
    return all;
}();

/// Calls fn(member, width, i) for each field that is a number, the i-th of all.
template <wire::Attribute T, typename Fn>
void for_each_number(T& value, Fn&& fn) {
    std::size_t i = 0;
    const auto visit = [&](const auto& field) {
        auto& member = value.*field.member;
        if constexpr (std::unsigned_integral<std::remove_reference_t<decltype(member)>>) {
            fn(member, field.width, i);
        }
        ++i;
    };
    wire::kFields<T>.apply([&](const auto&... field) { (visit(field), ...); });
}

/// Returns CounterSelect with CounterSelect2, where the attribute has it, in the upper half.
template <wire::Attribute T>
std::uint32_t selected(const T& asked) {
    std::uint32_t select = asked.counter_select;
    if constexpr (requires { asked.counter_select2; }) {
        select |= std::uint32_t{asked.counter_select2} << 16;
    }
    return select;
}

}  // namespace

template <wire::Attribute T, wire::PmAttribute kAttribute>
std::uint16_t PerfAgent::port_counters(const Request& r) {
    constexpr const auto& shown = kShown<T, kAttribute>;
    auto asked = wire::parse<T>(r.data);
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (!r.ports(asked.port_select, first, last)) {
        return status::kInvalidField;
    }
    std::array<std::uint64_t, shown.size()> sum{};
    for (unsigned number = first; number <= last; ++number) {
        const auto port = static_cast<std::uint8_t>(number);
        const counters::PortCounts now = r.count(port);
        if (r.set) {
            Bases& bases = bases_[key_of(r.id, port)];
            for_each_number(asked, [&](auto wanted, std::size_t, std::size_t i) {
                if (shown[i].row != nullptr && (selected(asked) >> shown[i].select & 1) != 0) {
                    bases[shown[i].base] = value_of(*shown[i].row, now) - wanted;
                }
            });
        }
        const auto bases = bases_.find(key_of(r.id, port));
        for (std::size_t i = 0; i < shown.size(); ++i) {
            if (shown[i].row != nullptr) {
                sum[i] += value_of(*shown[i].row, now) -
                          (bases == bases_.end() ? 0 : bases->second[shown[i].base]);
            }
        }
    }
    T answer;
    answer.port_select = asked.port_select;
    answer.counter_select = asked.counter_select;
    if constexpr (requires { answer.counter_select2; }) {
        answer.counter_select2 = asked.counter_select2;
    }
    for_each_number(answer, [&]<typename M>(M& member, std::size_t width, std::size_t i) {
        if (shown[i].row != nullptr) {
            member = saturated<M>(sum[i], static_cast<unsigned>(width));
        }
    });
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
        sampling.start = r.count(first, last);
        sampling.turn = ++samplings_begun_;
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
    // A result names no port. If controls of several ports have this tag, it is that of the control
    // that was set last: a node with one sampling mechanism samples for that one.
    const auto asked = wire::parse<wire::PortSamplesResult>(r.data);
    const Sampling* newest = nullptr;
    for (const auto& [key, sampling] : samplings_) {
        if (key >> 8 == r.id && sampling.turn != 0 && sampling.control.tag == asked.tag &&
            (newest == nullptr || sampling.turn > newest->turn)) {
            newest = &sampling;
        }
    }
    std::uint8_t first = 0;
    std::uint8_t last = 0;
    if (newest != nullptr && r.ports(newest->control.port_select, first, last)) {
        const counters::PortCounts now = r.count(first, last);
        constexpr std::uint64_t counters::PortCounts::* kSampled[] = {
            nullptr,
            &counters::PortCounts::xmit_words,
            &counters::PortCounts::rcv_words,
            &counters::PortCounts::xmit_packets,
            &counters::PortCounts::rcv_packets,
            &counters::PortCounts::xmit_wait,
        };
        for (std::size_t i = 0; i < answer.counter.size(); ++i) {
            const std::uint16_t select = newest->control.counter_select[i];
            if (select > 0 && select < std::size(kSampled)) {
                answer.counter[i] = saturated<std::uint32_t>(now.*kSampled[select] -
                                                             newest->start.*kSampled[select]);
            }
        }
    }
    answer.tag = asked.tag;
    return r.put(answer);
}

std::uint16_t PerfAgent::answer_attribute(const Request& r, wire::PmAttribute attribute) {
    switch (attribute) {
        case wire::PmAttribute::kClassPortInfo: {
            wire::ClassPortInfo info;
            info.capability_mask = kCapability;
            info.capability_mask2 =
                wire::pm_capability2::kIsAdditionalPortCountersExtendedSupported;
            info.resp_time_value = mad::kRespTimeValue;
            return r.put(info);
        }
        case wire::PmAttribute::kPortCounters:
            return port_counters<wire::PortCounters, wire::PmAttribute::kPortCounters>(r);
        case wire::PmAttribute::kPortCountersExtended:
            return port_counters<wire::PortCountersExtended,
                                 wire::PmAttribute::kPortCountersExtended>(r);
        case wire::PmAttribute::kPortXmitDiscardDetails:
            return port_counters<wire::PortXmitDiscardDetails,
                                 wire::PmAttribute::kPortXmitDiscardDetails>(r);
        case wire::PmAttribute::kPortSamplesControl:
            return samples_control(r);
        case wire::PmAttribute::kPortSamplesResult:
            return samples_result(r);
        case wire::PmAttribute::kPortRcvErrorDetails:
            return port_counters<wire::PortRcvErrorDetails,
                                 wire::PmAttribute::kPortRcvErrorDetails>(r);
        case wire::PmAttribute::kPortOpRcvCounters:
            return r.zeros<wire::PortOpRcvCounters>();
        case wire::PmAttribute::kPortFlowCtlCounters:
            return r.zeros<wire::PortFlowCtlCounters>();
        case wire::PmAttribute::kPortVlOpPackets:
            return r.zeros<wire::PortVlOpPackets>();
        case wire::PmAttribute::kPortVlOpData:
            return r.zeros<wire::PortVlOpData>();
        case wire::PmAttribute::kPortVlXmitFlowCtlUpdateErrors:
            return r.zeros<wire::PortVlXmitFlowCtlUpdateErrors>();
        case wire::PmAttribute::kPortExtendedSpeedsCounters:
            return r.zeros<wire::PortExtendedSpeedsCounters>();
        case wire::PmAttribute::kPortRcvConCtrl:
            return port_counters<wire::PortRcvConCtrl, wire::PmAttribute::kPortRcvConCtrl>(r);
        case wire::PmAttribute::kPortXmitConCtrl:
            return port_counters<wire::PortXmitConCtrl, wire::PmAttribute::kPortXmitConCtrl>(r);
        default:
            return lane_counters(r, attribute).value_or(status::kUnsupportedAttribute);
    }
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
        result = answer_attribute(r, static_cast<wire::PmAttribute>(header.attribute_id()));
    }
    const wire::Mad<std::uint8_t> out(answer);
    out.set_method(wire::Method::kGetResp);
    out.set_status(result);
    return answer;
}

}  // namespace softib::agent
