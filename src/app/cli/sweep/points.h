// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The points of a sweep with their outcomes, as text, JSON and comma-separated values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/sweep/database.h"
#include "spec/scenario/sweep.h"

namespace softib::app::sweep {

struct PointRow {
    std::uint64_t number = 0;
    spec::SweepPoint point = {};
    std::optional<Outcome> outcome = {};  ///< std::nullopt: the point has not been simulated.
};

std::string to_text(const std::vector<PointRow>& rows);
std::string to_json(const std::vector<PointRow>& rows);
std::string to_csv(const std::vector<PointRow>& rows);

/// Returns an outcome as the text that the process of a point sends to the one that started it.
std::string to_message(const Outcome& outcome);
/// Returns the outcome that to_message() wrote; std::nullopt if the text is none.
std::optional<Outcome> from_message(const std::string& text);

}  // namespace softib::app::sweep
