// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A training job, made from what a user says about it. What was not said gets a default here: the
// GPUs, a batch of about 4 Mi tokens, the degrees of parallelism.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/train/framework.h"
#include "plan/train/mapping.h"
#include "plan/train/search.h"

namespace softib::plan {

/// What a user says about a job. A number that was not said is 0, a choice std::nullopt.
struct JobWish {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    std::uint32_t pp = 0;
    std::uint32_t interleave = 0;
    std::uint32_t cp = 0;
    std::uint32_t ep = 0;
    std::optional<std::uint32_t> zero = {};
    std::uint32_t batch = 0;
    std::uint32_t micro_batch = 0;
    std::uint32_t sequence = 0;
    std::optional<Recompute> recompute = {};
    /// The fields that a search does not vary: how the framework computes and what it overlaps.
    Mapping framework = {};
    const Framework* preset = nullptr;  ///< The framework whose defaults these are; null: none.
    std::vector<std::string_view> given = {};  ///< The keys that the user said.

    /// Returns whether the user said a degree of any dimension: then all others are 1.
    bool says_mapping() const {
        return (tp | pp | interleave | cp | ep | micro_batch) != 0 || zero.has_value();
    }
};

struct Job {
    Model model = {};
    Cluster cluster = {};
    Mapping mapping = {};
};

/// Gives a wish the defaults of its framework for all that the user did not say.
JobWish with_defaults(JobWish wish);

/// Returns the job whose step is timed. A degree of parallelism that was not said is 1; the job has
/// all GPUs of the cluster that the degrees divide. Where stages can be cut into chunks, the number
/// of these is the quickest by rates and latencies, unless the framework does not cut them. The
/// mapping may have a fault.
Job job_to_time(Model model, Cluster cluster, const JobWish& wish);

/// Returns the job that a search maps, on all GPUs of the cluster if the user did not say how many.
Job job_to_search(Model model, Cluster cluster, const JobWish& wish);

/// Returns the mappings that a search for this job tries: all that vary what was not said.
SearchSpace space_of(const Job& job, const JobWish& wish);

/// Returns a batch of about 4 Mi tokens that is a multiple of `share`.
std::uint32_t usual_batch(const Mapping& mapping, std::uint64_t share);

/// Returns why a search found nothing: no mapping fits in memory, the one that was asked for has a
/// fault, or none divides GPUs and batch. `divided` is the number of mappings without a fault.
std::string why_nothing(const Job& job, std::uint64_t divided);

}  // namespace softib::plan
