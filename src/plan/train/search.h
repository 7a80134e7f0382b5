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
    Mapping base = {};  ///< gpus, batch, sequence and all that is not named below.
    std::uint32_t tp = 0;
    std::uint32_t pp = 0;
    std::uint32_t interleave = 0;
    std::uint32_t cp = 0;
    std::uint32_t ep = 0;
    std::uint32_t micro_batch = 0;
    std::optional<std::uint32_t> zero = {};
    std::optional<Recompute> recompute = {};
};

/// Mappings without a fault, in a fixed order; some may not fit in memory. Tensor parallelism stays
/// inside an NVLink domain, context parallelism is for sequences of 16 Ki tokens and more.
std::vector<Mapping> candidates(const Model& model, const Cluster& cluster,
                                const SearchSpace& space);

struct Candidate {
    Mapping mapping = {};
    double seconds = 0;
    double mfu = 0;
    double bubble_share = 0;
    double exposed_share = 0;  ///< Communication that nothing hides, of the step.
    double memory_bytes = 0;
};

/// Returns std::nullopt if the mapping does not fit in memory.
std::optional<Candidate> try_mapping(const Model& model, const Cluster& cluster,
                                     const Mapping& mapping, const Communication& communication);

/// The `most` quickest, each better than the next; equally quick ones by least memory.
std::vector<Candidate> best_of(std::vector<Candidate> tried, std::size_t most);

}  // namespace softib::plan
