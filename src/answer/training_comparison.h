// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Training steps of one model on clusters that differ: `softib plan compare --train`.

#include <expected>

#include "answer/question.h"
#include "plan/compare/comparison.h"

namespace softib::answer {

/// Times a step on each variant, by default with the mapping that is the quickest there, and tells
/// what it costs. A variant that cannot be has its reason. `cluster` is the one that is varied.
std::expected<plan::Comparison, Refusal> compare_training(const CompareQuestion& question,
                                                          const plan::Cluster& cluster,
                                                          const plan::Prices& prices,
                                                          const Watch& watch);

}  // namespace softib::answer
