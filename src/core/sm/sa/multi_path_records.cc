// SPDX-License-Identifier: BSD-2-Clause
// MultiPathRecord: paths between two sets of ports (IBA vol. 1, 15.2.5.20). The answer has
// PathRecords.
#include "core/sm/sa/path_records.h"
#include "core/wire/sa/multi_path_record.h"

namespace softib::sm {

namespace {

using wire::MultiPathRecord;
namespace status = wire::sa_status;

namespace mpr {
constexpr std::uint64_t kRawTraffic = wire::component(&MultiPathRecord::raw_traffic);
constexpr std::uint64_t kNumbPath = wire::component(&MultiPathRecord::numb_path);
constexpr std::uint64_t kCounts =
    wire::component(&MultiPathRecord::sgid_count) | wire::component(&MultiPathRecord::dgid_count);
constexpr std::uint64_t kServiceId = wire::component(&MultiPathRecord::service_id_8msb) |
                                     wire::component(&MultiPathRecord::service_id_56lsb);
}  // namespace mpr

constexpr std::uint32_t kPathsDefault = 127;  // The largest value of NumbPath.

PathWanted wanted_of(const SaQuery& query, const MultiPathRecord& asked) {
    PathWanted wanted = wanted_path(query, asked);
    if (query.has(mpr::kServiceId)) {
        wanted.service_id = std::uint64_t{asked.service_id_8msb} << 56 | asked.service_id_56lsb;
    }
    return wanted;
}

using Pair = std::pair<PathEnd, PathEnd>;

/// Returns all pairs of a source and a target. Pairs with no port in common come first, so that one
/// failure does not affect two of them.
std::vector<Pair> pairs_of(std::span<const PathEnd> sources, std::span<const PathEnd> targets) {
    std::vector<Pair> pairs;
    for (std::size_t shift = 0; shift < targets.size(); ++shift) {
        for (std::size_t i = 0; i < sources.size(); ++i) {
            pairs.emplace_back(sources[i], targets[(i + shift) % targets.size()]);
        }
    }
    return pairs;
}

}  // namespace

SaStatus query_multi_path_records(const SaQuery& query, const PathContext& context,
                                  SaTable& table) {
    const auto asked = query.record<MultiPathRecord>();
    if (!query.has(mpr::kCounts) || asked.sgid_count == 0 || asked.dgid_count == 0) {
        return status::kInsufficientComponents;
    }
    PathWanted wanted = wanted_of(query, asked);
    if (!wanted.mtu.is_legal() || !wanted.rate.is_legal()) {
        return status::kRequestInvalid;
    }
    const auto gids = wire::parse_multi_path_gids(asked, query.data);
    if (!gids) {
        return wire::mad_status::kInvalidField;
    }
    std::vector<PathEnd> ends;
    for (const Gid& gid : *gids) {
        const auto port =
            gid.is_multicast() ? std::nullopt : find_port(query.subnet, context.guids, gid);
        if (!port) {
            return status::kInvalidGid;
        }
        PathEnd end = path_end(query.subnet, *port);
        end.gid = gid;
        ends.push_back(end);
    }
    if (query.has(mpr::kRawTraffic) && asked.raw_traffic) {
        return wire::mad_status::kOk;
    }
    const std::vector<Pair> pairs = pairs_of(std::span(ends).first(asked.sgid_count),
                                             std::span(ends).subspan(asked.sgid_count));
    const std::uint32_t paths = query.has(mpr::kNumbPath) ? asked.numb_path : kPathsDefault;
    const PathFinder finder(query, context.settings);
    // First one path of each pair, then their further paths.
    wanted.paths_max = 1;
    for (std::size_t i = 0; i < pairs.size() && table.count() < paths; ++i) {
        finder.find(wanted, pairs[i].first, pairs[i].second,
                    [&](const wire::PathRecord& record) { table.add(record); });
    }
    wanted.paths_max = kPathsDefault;
    for (std::size_t i = 0; i < pairs.size() && table.count() < paths; ++i) {
        bool first = true;
        finder.find(wanted, pairs[i].first, pairs[i].second, [&](const wire::PathRecord& record) {
            if (!first && table.count() < paths) {
                table.add(record);
            }
            first = false;
        });
    }
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
