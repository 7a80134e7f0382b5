// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/cc_agent.h"

#include <algorithm>

#include "core/base/time_units.h"
#include "core/mad/response_time.h"
#include "core/wire/cc/congestion_info.h"
#include "core/wire/cc/congestion_log.h"
#include "core/wire/format/timestamp.h"
#include "core/wire/mad/class_port_info.h"

namespace softib::agent {

namespace {

namespace status = wire::mad_status;

constexpr std::uint64_t kNsPerTick = 1024;  ///< One tick of the clock of the congestion log.
constexpr std::size_t kPortsPerBlock = 48;
constexpr std::size_t kDelaysPerBlock = 64;

/// Writes an attribute into the data of an answer, with zeros after it.
template <wire::Attribute T>
void put(const T& value, std::span<std::uint8_t> data) {
    std::ranges::fill(data, std::uint8_t{0});
    wire::emit(value, data);
}

std::uint32_t ticks(std::uint64_t now_ns) {
    return static_cast<std::uint32_t>(now_ns / kNsPerTick);
}

}  // namespace

CongestionAgent CongestionAgent::of_switch(std::uint8_t ports) {
    CongestionAgent agent;
    agent.is_switch_ = true;
    agent.ports_.resize(std::size_t{ports} + 1);
    return agent;
}

CongestionAgent CongestionAgent::of_adapter() {
    CongestionAgent agent;
    agent.delays_.resize(kTableBlocks * kDelaysPerBlock);
    return agent;
}

/// Returns whether a request is allowed by its CC_Key. Any requester may read. A Set with a wrong
/// key is dropped and counted, and starts the lease; when the lease ends, every requester can read
/// the key. A request with the right key stops the lease.
bool CongestionAgent::key_allows(std::uint64_t cc_key, bool is_set, std::uint64_t now_ns) {
    if (lease_ends_ns_ != 0 && now_ns >= lease_ends_ns_) {
        lease_ends_ns_ = 0;
        key_.cc_key_protect_bit = false;
    }
    if (key_.cc_key == 0 || cc_key == key_.cc_key) {
        lease_ends_ns_ = 0;
        return true;
    }
    if (!is_set) {
        return true;
    }
    if (key_.cc_key_violations != UINT16_MAX) {
        ++key_.cc_key_violations;
    }
    if (key_.cc_key_lease_period != 0 && lease_ends_ns_ == 0) {
        lease_ends_ns_ = now_ns + key_.cc_key_lease_period * kNsPerSecond;
    }
    return false;
}

void CongestionAgent::key_info(bool set, std::uint64_t cc_key, Data data) {
    if (set) {
        const auto wanted = wire::parse<wire::CongestionKeyInfo>(data);
        key_.cc_key = wanted.cc_key;
        key_.cc_key_protect_bit = wanted.cc_key_protect_bit;
        key_.cc_key_lease_period = wanted.cc_key_lease_period;
        if (wanted.cc_key_violations == 0) {  // Anything else leaves the counter as it is.
            key_.cc_key_violations = 0;
        }
        lease_ends_ns_ = 0;
    }
    wire::CongestionKeyInfo answer = key_;
    if (!set && key_.cc_key_protect_bit && cc_key != key_.cc_key) {
        answer.cc_key = 0;
    }
    put(answer, data);
}

void CongestionAgent::log(std::span<std::uint8_t, wire::kCcLogBytes> data,
                          std::uint64_t now_ns) const {
    if (is_switch_) {
        wire::SwitchCongestionLog answer;
        answer.current_time_stamp = ticks(now_ns);
        put(answer, data);
    } else {
        wire::CaCongestionLog answer;
        answer.current_time_stamp = ticks(now_ns);
        put(answer, data);
    }
}

/// Answers SwitchCongestionSetting. Control_Map says which fields a Set changes.
void CongestionAgent::switch_setting(bool set, Data data) {
    namespace map = wire::switch_control_map;
    if (set) {
        const auto wanted = wire::parse<wire::SwitchCongestionSetting>(data);
        const auto has = [&](std::uint32_t bit) { return (wanted.control_map & bit) != 0; };
        ++writes_;
        switch_.control_map = wanted.control_map;
        if (has(map::kVictimMask)) {
            switch_.victim_mask = wanted.victim_mask;
        }
        if (has(map::kCreditMask)) {
            switch_.credit_mask = wanted.credit_mask;
        }
        if (has(map::kThresholdAndPacketSize)) {
            switch_.threshold = wanted.threshold;
            switch_.packet_size = wanted.packet_size;
        }
        if (has(map::kCreditStarvation)) {
            switch_.cs_threshold = wanted.cs_threshold;
            switch_.cs_return_delay = wanted.cs_return_delay;
        }
        if (has(map::kMarkingRate)) {
            switch_.marking_rate = wanted.marking_rate;
        }
    }
    put(switch_, data);
}

std::uint16_t CongestionAgent::switch_port_setting(bool set, std::uint32_t block, Data data) {
    const std::size_t first = std::size_t{block} * kPortsPerBlock;
    if (first >= ports_.size()) {
        return status::kInvalidField;
    }
    const std::size_t count = std::min(kPortsPerBlock, ports_.size() - first);
    const auto ports = ports_.begin() + static_cast<std::ptrdiff_t>(first);
    if (set) {
        const auto wanted = wire::parse<wire::SwitchPortCongestionSetting>(data);
        std::copy_n(wanted.entry.begin(), count, ports);
        ++writes_;
    }
    wire::SwitchPortCongestionSetting answer;
    std::copy_n(ports, count, answer.entry.begin());
    put(answer, data);
    return status::kOk;
}

/// Answers CACongestionSetting. Control_Map says which service levels a Set changes.
void CongestionAgent::ca_setting(bool set, Data data) {
    if (set) {
        const auto wanted = wire::parse<wire::CaCongestionSetting>(data);
        ++writes_;
        ca_.port_control = wanted.port_control;
        ca_.control_map = wanted.control_map;
        for (std::size_t sl = 0; sl < ca_.entry.size(); ++sl) {
            if ((wanted.control_map >> sl & 1) != 0) {
                ca_.entry[sl] = wanted.entry[sl];
            }
        }
    }
    put(ca_, data);
}

std::uint16_t CongestionAgent::table(bool set, std::uint32_t block, Data data) {
    const std::size_t first = std::size_t{block} * kDelaysPerBlock;
    if (first >= delays_.size()) {
        return status::kInvalidField;
    }
    const auto delays = delays_.begin() + static_cast<std::ptrdiff_t>(first);
    std::uint16_t result = status::kOk;
    if (set) {
        const auto wanted = wire::parse<wire::CongestionControlTable>(data);
        if (wanted.ccti_limit >= delays_.size()) {
            result = status::kInvalidField;
        } else {
            ++writes_;
            ccti_limit_ = wanted.ccti_limit;
            std::ranges::copy(wanted.entry, delays);
        }
    }
    wire::CongestionControlTable answer;
    answer.ccti_limit = ccti_limit_;
    std::copy_n(delays, kDelaysPerBlock, answer.entry.begin());
    put(answer, data);
    return result;
}

std::uint16_t CongestionAgent::dispatch(const wire::MadRepr& header, std::uint64_t cc_key,
                                        wire::MadBytes& mad, std::uint64_t now_ns) {
    const bool set = header.method == wire::Method::kSet;
    const wire::Cc<std::uint8_t> cc(mad);
    const Data data = cc.data();
    const std::uint16_t only_get = set ? status::kUnsupportedMethod : status::kOk;
    switch (static_cast<wire::CcAttribute>(header.attribute_id)) {
        case wire::CcAttribute::kClassPortInfo: {
            wire::ClassPortInfo info;
            info.class_version = wire::kCcClassVersion;
            info.resp_time_value = mad::kRespTimeValue;
            put(info, data);
            return status::kOk;  // A Set only says where traps go, and this agent sends none.
        }
        case wire::CcAttribute::kCongestionInfo: {
            wire::CongestionInfo info;
            info.control_table_cap = is_switch_ ? std::uint8_t{0} : kTableBlocks;
            put(info, data);
            return only_get;
        }
        case wire::CcAttribute::kCongestionKeyInfo:
            key_info(set, cc_key, data);
            return status::kOk;
        case wire::CcAttribute::kCongestionLog:
            log(cc.log(), now_ns);
            return only_get;
        case wire::CcAttribute::kTimestamp:
            put(wire::Timestamp{ticks(now_ns)}, data);
            return only_get;
        case wire::CcAttribute::kSwitchCongestionSetting:
            if (is_switch_) {
                switch_setting(set, data);
                return status::kOk;
            }
            break;
        case wire::CcAttribute::kSwitchPortCongestionSetting:
            if (is_switch_) {
                return switch_port_setting(set, header.attribute_modifier, data);
            }
            break;
        case wire::CcAttribute::kCaCongestionSetting:
            if (!is_switch_) {
                ca_setting(set, data);
                return status::kOk;
            }
            break;
        case wire::CcAttribute::kCongestionControlTable:
            if (!is_switch_) {
                return table(set, header.attribute_modifier, data);
            }
            break;
        default:
            break;
    }
    return status::kUnsupportedAttribute;
}

std::optional<wire::MadBytes> CongestionAgent::answer(const wire::MadBytes& request,
                                                      std::uint64_t now_ns) {
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(request));
    if (header.mgmt_class != wire::MgmtClass::kCongestion ||
        (header.method != wire::Method::kGet && header.method != wire::Method::kSet)) {
        return std::nullopt;
    }
    if (header.base_version != wire::kMadBaseVersion ||
        header.class_version != wire::kCcClassVersion) {
        return wire::respond_with_status(request, status::kUnsupportedClass);
    }
    const std::uint64_t cc_key = wire::Cc<const std::uint8_t>(request).cc_key();
    if (!key_allows(cc_key, header.method == wire::Method::kSet, now_ns)) {
        return std::nullopt;
    }
    wire::MadBytes answer = request;
    const std::uint16_t result = dispatch(header, cc_key, answer, now_ns);
    const wire::Mad<std::uint8_t> out(answer);
    out.set_method(wire::Method::kGetResp);
    out.set_status(result);
    return answer;
}

}  // namespace softib::agent
