// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Which options of `softib plan collective` and `softib plan compare` act in which runs. An option
// that was given and does not act is refused, with what it needs.

#include <optional>
#include <string>
#include <vector>

#include "app/cli/plan/plan_commands.h"
#include "plan/collective/collective_model.h"

namespace softib::app {

/// Returns the first of the given options that changes nothing on this model, where the operation
/// is done by these algorithms, as a message that says what it needs.
std::optional<std::string> find_idle_option(const PlanCollectiveOptions& options,
                                            const plan::CollectiveModel& model,
                                            const std::vector<plan::Algorithm>& algorithms);
/// Returns the first of the given options that changes nothing whatever the cluster is.
std::optional<std::string> find_idle_option(const PlanCollectiveOptions& options, plan::Op op);
std::optional<std::string> find_idle_option(const PlanCompareOptions& options);
/// Returns the first of the given options that changes nothing for this cluster.
std::optional<std::string> find_idle_option(const PlanCompareOptions& options,
                                            const plan::Cluster& cluster);

}  // namespace softib::app
