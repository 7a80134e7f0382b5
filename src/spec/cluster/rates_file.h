// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The rates of kernels on a GPU (plan/cluster/rates.h) from a file of TOML, whose keys are the
// fields of plan::Rates. `base` names rates that the others change: hopper, or "" for none.

#include <expected>
#include <string>
#include <string_view>

#include "plan/cluster/rates.h"

namespace softib::spec {

/// Returns the rates of a text. Errors begin with FILE:LINE:COLUMN.
std::expected<plan::Rates, std::string> parse_rates(std::string_view text, const std::string& file);
std::expected<plan::Rates, std::string> load_rates(const std::string& file);

}  // namespace softib::spec
