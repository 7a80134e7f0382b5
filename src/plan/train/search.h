// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The mappings of a model onto GPUs that are worth trying, and how good one of them is. The caller
// tries them in any order, on as many threads as it likes, and ranks what it got.

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/train/step.h"

namespace softib::plan {

/// What a search starts from. A field that is set stays; 0 and std::nullopt are searched.
struct SearchSpace {
    Mapping base = {};  ///< Fields that are not searched: gpus, batch, sequence and others.
    std::uint32_t tp = 0;
    std::uint32_t pp = 0;
    std::uint32_t interleave = 0;
    std::uint32_t cp = 0;
    std::uint32_t ep = 0;
    std::uint32_t micro_batch = 0;
    std::optional<std::uint32_t> zero = {};
    std::optional<Recompute> recompute = {};
};

/// Returns mappings without a fault, in a fixed order; some may not fit in memory. Tensor
/// parallelism stays inside an NVLink domain; context parallelism is tried for sequences of at
/// least 16 Ki tokens.
std::vector<Mapping> candidates(const Model& model, const Cluster& cluster,
                                const SearchSpace& space);

struct Candidate {
    Mapping mapping = {};
    double seconds = 0;
    double mfu = 0;
    double bubble_share = 0;
    double exposed_share = 0;  ///< Part of the step that is communication which nothing hides.
    double memory_bytes = 0;
};

/// Times a step with this mapping. Returns std::nullopt if it does not fit in memory.
std::optional<Candidate> try_mapping(const Model& model, const Cluster& cluster,
                                     const Mapping& mapping, const Communication& communication);

/// Returns the `most` quickest, the quickest first; of equally quick ones, that with less memory
/// comes first.
std::vector<Candidate> best_of(std::vector<Candidate> tried, std::size_t most);

}  // namespace softib::plan
