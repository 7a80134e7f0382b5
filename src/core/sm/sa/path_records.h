// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PathRecord, MultiPathRecord and TraceRecord: the questions about paths (IBA vol. 1, 15.2.5.16,
// 15.2.5.20 and 15.2.5.19).

#include "core/sm/sa/guids.h"
#include "core/sm/sa/multicast.h"
#include "core/sm/sa/path_finder.h"
#include "core/sm/sa/query.h"

namespace softib::sm {

struct PathContext {
    const PathSettings& settings;
    const SaMulticast& multicast;
    const SaGuids& guids;
};

/// The port of a GID of this subnet: its own, or an alias.
std::optional<EndPort> find_port(const Subnet& subnet, const SaGuids& guids, const Gid& gid);

SaStatus query_path_records(const SaQuery& query, const PathContext& context, SaTable& table);
SaStatus query_multi_path_records(const SaQuery& query, const PathContext& context, SaTable& table);
SaStatus query_trace_records(const SaQuery& query, const PathContext& context, SaTable& table);

}  // namespace softib::sm
