// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// softib plan collective --export.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "app/cli/plan/plan_commands.h"
#include "app/cli/trace/trace_commands.h"
#include "plan/collective/collective_model.h"

namespace softib::app {

/// Says which flags an export does not go with.
std::optional<std::string> why_no_export(const PlanCollectiveOptions& options);

/// Writes the messages of one operation of all ranks. Returns the exit status.
int export_operation(std::span<const trace::Export> exports, const plan::CollectiveModel& model,
                     plan::Op op, plan::Algorithm algorithm, std::uint64_t bytes);

}  // namespace softib::app
