// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What an answer about training stands on: how it was computed, what was assumed, and the published
// measurements that are nearest to it.

#include <string>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/train/mapping.h"
#include "plan/train/model.h"

namespace softib::plan {

/// Returns the sentences for a report: the model of exchanges (`network` is "analytic", "flow" or
/// "packet"), what was assumed, what limits the cluster, and the nearest rows of the validation, or
/// that none validates the answer.
std::vector<std::string> basis_of(const Model& model, const Cluster& cluster,
                                  const std::string& network);

}  // namespace softib::plan
