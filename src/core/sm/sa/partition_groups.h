// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups that partitions ask for: an IPoIB broadcast group where they say so, and
// those they name.

#include <optional>
#include <vector>

#include "core/sm/partitions.h"
#include "core/wire/mc_member_record.h"

namespace softib::sm {

/// Without partitions there is the broadcast group of the default one.
std::vector<wire::McMemberRecord> partition_groups(
    const std::optional<std::vector<Partition>>& partitions);

}  // namespace softib::sm
