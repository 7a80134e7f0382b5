// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Queries about paths: PathRecord, MultiPathRecord and TraceRecord (IBA vol. 1, 15.2.5.16,
// 15.2.5.20 and 15.2.5.19).

#include <cstdint>

#include "core/sm/sa/guids.h"
#include "core/sm/sa/multicast.h"
#include "core/sm/sa/path_finder.h"
#include "core/sm/sa/query.h"

namespace softib::sm {

/// The parts of the SA that queries about paths need.
struct PathContext {
    const PathSettings& settings;
    const SaMulticast& multicast;
    const SaGuids& guids;
};

/// Returns the port that has this GID, as its own or by an alias GUID; std::nullopt if no port of
/// this subnet has it.
std::optional<EndPort> find_port(const Subnet& subnet, const SaGuids& guids, const Gid& gid);

/// Reads what a query wants of a path: the components that PathRecord and MultiPathRecord both
/// have. They count only if the query's ComponentMask names them.
template <typename Record>
PathWanted wanted_path(const SaQuery& query, const Record& asked) {
    using wire::component;
    constexpr std::uint64_t kMtu = component(&Record::mtu_selector) | component(&Record::mtu);
    constexpr std::uint64_t kRate = component(&Record::rate_selector) | component(&Record::rate);
    constexpr std::uint64_t kLifeTime =
        component(&Record::packet_life_time_selector) | component(&Record::packet_life_time);
    constexpr std::uint64_t kPKey = component(&Record::pkey);
    constexpr std::uint64_t kSl = component(&Record::sl);
    constexpr std::uint64_t kReversible = component(&Record::reversible);
    constexpr std::uint64_t kFlowLabel = component(&Record::flow_label);
    constexpr std::uint64_t kTClass = component(&Record::tclass);
    PathWanted wanted;
    wanted.mtu = {Quantity::kMtu, query.has(kMtu), asked.mtu_selector, asked.mtu};
    wanted.rate = {Quantity::kRate, query.has(kRate), asked.rate_selector, asked.rate};
    wanted.life_time = {Quantity::kLifeTime, query.has(kLifeTime), asked.packet_life_time_selector,
                        asked.packet_life_time};
    if (query.has(kPKey)) {
        wanted.pkey = asked.pkey;
    }
    if (query.has(kSl)) {
        wanted.sl = asked.sl;
    }
    wanted.reversible = query.has(kReversible) && asked.reversible;
    wanted.flow_label = query.has(kFlowLabel) ? asked.flow_label : 0;
    wanted.tclass = query.has(kTClass) ? asked.tclass : std::uint8_t{0};
    return wanted;
}

SaStatus query_path_records(const SaQuery& query, const PathContext& context, SaTable& table);
SaStatus query_multi_path_records(const SaQuery& query, const PathContext& context, SaTable& table);
SaStatus query_trace_records(const SaQuery& query, const PathContext& context, SaTable& table);

}  // namespace softib::sm
