// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What interrupts training, from a file of TOML: sections whose keys are the fields of
// plan::FailureKind. A section that is known by name changes what it says; another one adds a kind
// of failure, and needs of, per_million_hours and loses.

#include <expected>
#include <string>
#include <string_view>

#include "plan/goodput/failures.h"

namespace softib::spec {

/// Returns the default failures with the changes of a text. Errors begin with FILE:LINE:COLUMN.
std::expected<plan::Failures, std::string> parse_failures(std::string_view text,
                                                          const std::string& file);
std::expected<plan::Failures, std::string> load_failures(const std::string& file);

}  // namespace softib::spec
