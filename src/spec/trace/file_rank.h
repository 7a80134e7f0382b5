// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the rank of a trace file by its name: "name.3.et", "rank-3.json".

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/trace/trace_file.h"

namespace softib::spec {

/// Returns the last number in a file's name; std::nullopt if it has none.
std::optional<std::uint32_t> rank_in_name(std::string_view file);

/// Returns the rank of each file; a single file is rank 0. Returns an error unless the ranks are
/// all numbers from 0 to one less than the number of files.
std::expected<std::vector<std::uint32_t>, std::string> file_ranks(std::span<const TraceText> files);

}  // namespace softib::spec
