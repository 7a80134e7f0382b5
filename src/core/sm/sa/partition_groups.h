// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups that partitions ask for: an IPoIB broadcast group if a partition has the
// flag, and the groups that it names.

#include <optional>
#include <vector>

#include "core/sm/partitions.h"
#include "core/wire/sa/mc_member_record.h"

namespace softib::sm {

/// Returns the groups of all partitions; if there are none, the broadcast group of the default
/// partition.
std::vector<wire::McMemberRecord> partition_groups(
    const std::optional<std::vector<Partition>>& partitions);

}  // namespace softib::sm
