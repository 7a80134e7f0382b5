// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The points of a sweep with what came of them, as text, JSON and comma separated values.

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
    std::optional<Outcome> outcome = {};  ///< Nothing: it has not been simulated.
};

std::string to_text(const std::vector<PointRow>& rows);
std::string to_json(const std::vector<PointRow>& rows);
std::string to_csv(const std::vector<PointRow>& rows);

/// An outcome on its way from the process of a point.
std::string to_message(const Outcome& outcome);
std::optional<Outcome> from_message(const std::string& text);

}  // namespace softib::app::sweep
