// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Times an operation of some hosts, the victims, while the other hosts, the aggressors, send
// without end: the set-up of congestion tests on shared machines. Hosts are victims and aggressors
// in turn: the first is a victim, the second an aggressor, and so on.

#include <cstdint>
#include <expected>
#include <string>

#include "plan/cluster/cluster.h"

namespace softib::plan {

enum class VictimOp : std::uint8_t {
    kAllToAll,   ///< Each victim sends `bytes` to each other, all at once.
    kAllGather,  ///< A ring that gathers `bytes` in all; a victim passes on each block it receives.
};
enum class Aggressor : std::uint8_t {
    kNone,
    kAllToAll,  ///< Each aggressor sends 2 MiB to each other one, again and again.
    kIncast,    ///< Each aggressor sends 2 MiB to the first one, again and again.
};

/// Returns the microseconds until the last victim is done, on the packet model, with the first NIC
/// of each of the cluster's hosts. Aggressors begin some time before the victims.
std::expected<double, std::string> victim_us(const Cluster& cluster, VictimOp op,
                                             std::uint64_t bytes, Aggressor aggressor);

}  // namespace softib::plan
