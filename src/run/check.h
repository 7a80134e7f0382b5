// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Refuses what a user gave and what would change nothing, by the columns `serves` of all tables.

#include <optional>
#include <string>
#include <vector>

#include "run/run.h"
#include "spec/key_rule.h"

namespace softib::run {

/// Returns whether a key of a fabric's description is about its lanes: quality of service, which is
/// the same in virtual time.
bool is_of_lanes(const spec::KeyRule& rule);

/// Returns the first thing that would not act, with its place and what would act instead;
/// std::nullopt if all of it acts. In a comparison a key must act on one of the networks at least,
/// in a sweep at one of the points. `options`: the options of the run that were given.
std::optional<std::string> find_idle(const Run& run,
                                     const std::vector<spec::Scenario::Given>& options);

}  // namespace softib::run
