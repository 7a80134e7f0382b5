// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Which options of `softib plan collective` and `softib plan compare` act in which runs. An option
// that was given and does not act is refused, with what it needs.

#include <optional>
#include <string>
#include <vector>

#include "answer/question.h"
#include "plan/collective/collective_model.h"

namespace softib::answer {

/// Returns the first of the given options that changes nothing on this model, where the operation
/// is done by these algorithms, as a message that says what it needs.
std::optional<std::string> find_idle_option(const CollectiveQuestion& options,
                                            const plan::CollectiveModel& model,
                                            const std::vector<plan::Algorithm>& algorithms);
/// Returns the first of the given options that changes nothing whatever the cluster is.
std::optional<std::string> find_idle_option(const CollectiveQuestion& options, plan::Op op);
std::optional<std::string> find_idle_option(const CompareQuestion& options);

/// Returns the first of the given options that changes nothing for this cluster.
std::optional<std::string> find_idle_option(const CompareQuestion& question,
                                            const plan::Cluster& cluster);

}  // namespace softib::answer
