// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An operation of some hosts, the victims, while others send without end: the set-up of congestion
// tests on shared machines. Hosts take turns: the first is a victim, the second an aggressor, and
// so on.

#include <cstdint>
#include <expected>
#include <string>

#include "plan/cluster/cluster.h"

namespace softib::plan {

enum class VictimOp : std::uint8_t {
    kAllToAll,   ///< `bytes`: to each peer, all at once.
    kAllGather,  ///< `bytes`: of all together, in a ring: a block goes on when it has come.
};
enum class Aggressor : std::uint8_t {
    kNone,
    kAllToAll,  ///< 2 MiB to each other aggressor, again and again.
    kIncast,    ///< 2 MiB from each to the first, again and again.
};

/// Returns the microseconds until the last victim is done, on packets, with the first NIC of each
/// of the cluster's hosts. Aggressors begin some time before.
std::expected<double, std::string> victim_us(const Cluster& cluster, VictimOp op,
                                             std::uint64_t bytes, Aggressor aggressor);

}  // namespace softib::plan
