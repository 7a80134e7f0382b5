// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads what varies from the top of a file.

#include <filesystem>
#include <string>

#include "spec/scenario/sweep.h"
#include "spec/scenario/toml_file.h"

namespace softib::spec {

/// Reads the keys `seeds` and `vary`; leaves `wish` as it is if the table has neither.
Result read_sweep(const toml::table& table, const std::string& file,
                  const std::filesystem::path& folder, RunWish& wish);

}  // namespace softib::spec
