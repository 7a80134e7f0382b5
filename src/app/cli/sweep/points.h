// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The points of a sweep with their outcomes, as text for people and for the process that collects
// them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/sweep/database.h"
#include "run/points.h"

namespace softib::app::sweep {

std::string to_text(const run::SweepReport& report);

/// Returns an outcome as the text that the process of a point sends to the one that started it.
std::string to_message(const Outcome& outcome);
/// Returns the outcome that to_message() wrote; std::nullopt if the text is none.
std::optional<Outcome> from_message(const std::string& text);

}  // namespace softib::app::sweep
