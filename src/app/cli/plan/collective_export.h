// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// softib plan collective --export.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "answer/question.h"
#include "app/cli/trace/trace_commands.h"
#include "plan/collective/collective_model.h"

namespace softib::app {

/// Returns why there can be no export with these flags; std::nullopt if there can be one.
std::optional<std::string> why_no_export(const answer::CollectiveQuestion& options);

/// Writes the messages of one collective operation of all ranks. Returns the exit status.
int export_operation(std::span<const trace::Export> exports, const plan::CollectiveModel& model,
                     plan::Op op, plan::Algorithm algorithm, std::uint64_t bytes);

}  // namespace softib::app
