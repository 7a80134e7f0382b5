// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Queries about paths: PathRecord, MultiPathRecord and TraceRecord (IBA vol. 1, 15.2.5.16,
// 15.2.5.20 and 15.2.5.19).

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

SaStatus query_path_records(const SaQuery& query, const PathContext& context, SaTable& table);
SaStatus query_multi_path_records(const SaQuery& query, const PathContext& context, SaTable& table);
SaStatus query_trace_records(const SaQuery& query, const PathContext& context, SaTable& table);

}  // namespace softib::sm
