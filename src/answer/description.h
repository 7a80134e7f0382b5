// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a cluster or a model is, by the keys of its file: those that the file says, and those that
// it has from its base.

#include <expected>
#include <string>
#include <variant>

#include "answer/question.h"
#include "plan/cluster/cluster.h"
#include "plan/train/model.h"

namespace softib::answer {

using Described = std::variant<plan::Cluster, plan::Model>;

std::expected<Described, Refusal> describe(const DescribeQuestion& question);

/// Returns the keys with their values, in sections as in the file, and what follows from them:
/// `gpus` of a cluster, `parameters` and `active_parameters` of a model.
std::string to_json(const Described& described);

}  // namespace softib::answer
