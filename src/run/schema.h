// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace softib::run {

/// Returns the JSON schema of scenarios, for editors that check and complete TOML by a schema.
std::string scenario_schema();

}  // namespace softib::run
