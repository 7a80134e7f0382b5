// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Which rank a file of a job is: "name.3.et", "rank-3.json".

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/trace/trace_file.h"

namespace softib::spec {

/// The last number in a file's name; std::nullopt if it has none.
std::optional<std::uint32_t> rank_in_name(std::string_view file);

/// The rank of each file, from 0 on without a gap. One file alone is rank 0.
std::expected<std::vector<std::uint32_t>, std::string> file_ranks(std::span<const TraceText> files);

}  // namespace softib::spec
