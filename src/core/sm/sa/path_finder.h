// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Paths between end ports, by the forwarding tables as they were written: a path exists only if the
// tables have it. Its MTU and rate are the least of the links on its way.

#include <cstdint>
#include <functional>
#include <optional>

#include "core/sm/sa/codes.h"
#include "core/sm/sa/query.h"
#include "core/wire/sa/path_record.h"

namespace softib::sm {

/// Returns the service level for a path: `wanted`, as far as routing leaves the choice. Without
/// such a function every service level is as good as any other.
using PathSl = std::function<std::uint8_t(Lid source, Lid destination, std::uint8_t wanted)>;

struct PathSettings {
    std::uint8_t packet_life_time = 18;
    PathSl sl;
};

/// The properties that a request demands of every path.
struct PathWanted {
    Wish mtu{.quantity = Quantity::kMtu};
    Wish rate{.quantity = Quantity::kRate};
    Wish life_time{.quantity = Quantity::kLifeTime};
    std::optional<PKey> pkey;
    std::optional<std::uint8_t> sl;
    bool reversible = false;       ///< Whether only reversible paths are wanted.
    std::uint32_t paths_max = 0;   ///< Most paths between two ports.
    std::uint64_t service_id = 0;  ///< ServiceID, which the answer repeats.
    std::uint32_t flow_label = 0;  ///< FlowLabel, which the answer repeats.
    std::uint8_t tclass = 0;       ///< TClass, which the answer repeats.
};

/// A port as a request names it: by one of its GIDs, and by one of its LIDs or all of them.
struct PathEnd {
    EndPort port;
    Gid gid;
    Lid first;               ///< The first of the LIDs that count.
    std::uint16_t lids = 1;  ///< The number of these LIDs.
};
/// Returns a port with its own GID and all its LIDs.
PathEnd path_end(const Subnet& subnet, EndPort port);

/// Finds the paths between two ports that a request asks for.
class PathFinder {
  public:
    PathFinder(const SaQuery& query, const PathSettings& settings)
        : query_(query), settings_(settings) {}

    /// Calls found(const PathRecord&) for each path, first for those that have no LID in common.
    /// Returns the number of paths.
    template <typename Found>
    std::uint32_t find(const PathWanted& wanted, const PathEnd& source, const PathEnd& target,
                       Found&& found) const;

  private:
    bool may_meet(const PathEnd& source, const PathEnd& target) const;
    std::optional<PKey> pkey_of(const PathWanted& wanted, const PathEnd& source,
                                const PathEnd& target) const;
    std::optional<wire::PathRecord> path(const PathWanted& wanted, const PathEnd& source, Lid slid,
                                         const PathEnd& target, Lid dlid, PKey pkey) const;

    const SaQuery& query_;
    const PathSettings& settings_;
};

template <typename Found>
std::uint32_t PathFinder::find(const PathWanted& wanted, const PathEnd& source,
                               const PathEnd& target, Found&& found) const {
    if (wanted.paths_max == 0 || !may_meet(source, target)) {
        return 0;
    }
    const std::optional<PKey> pkey = pkey_of(wanted, source, target);
    if (!pkey) {
        return 0;
    }
    std::uint32_t count = 0;
    const auto try_pair = [&](std::uint32_t i, std::uint32_t j, std::uint8_t preference) {
        const Lid slid{static_cast<std::uint16_t>(source.first.value + i)};
        const Lid dlid{static_cast<std::uint16_t>(target.first.value + j)};
        auto record = path(wanted, source, slid, target, dlid, *pkey);
        if (record) {
            record->preference = preference;
            found(*record);
            ++count;
        }
    };
    // Paths that have no LID in common are likely to have no cable in common.
    const std::uint32_t diagonal = std::min(source.lids, target.lids);
    for (std::uint32_t i = 0; i < diagonal && count < wanted.paths_max; ++i) {
        try_pair(i, i, 0);
    }
    for (std::uint32_t i = 0; i < source.lids; ++i) {
        for (std::uint32_t j = 0; j < target.lids && count < wanted.paths_max; ++j) {
            if (i != j) {
                try_pair(i, j, 2);
            }
        }
    }
    return count;
}

}  // namespace softib::sm
