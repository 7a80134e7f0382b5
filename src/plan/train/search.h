// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The search for the quickest mappings of a model onto GPUs. It considers every mapping that
// estimate_step() accepts for the same job, and times only those that may be among the quickest:
// least_time() (step.h) tells of all others that they take longer. This layer has no threads, so
// the caller gives a function that spreads work over them; the result does not depend on it.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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
    bool chunked_sends = false;  ///< Whether only stages in chunks compute while they send.
    std::optional<Recompute> recompute = {};
};

/// Returns all mappings without a fault, in a fixed order; some may not fit in memory. Of mappings
/// that differ in nothing but a field without effect, only one is returned.
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

/// What a search is doing: it sorts mappings out, times them by rates and latencies, and times the
/// quickest on a model of the fabric.
enum class SearchStage : std::uint8_t { kSorting, kTiming, kFabric };

/// How a search runs.
struct SearchRun {
    using Work = std::function<void(std::size_t)>;
    using Network = std::expected<std::unique_ptr<Communication>, std::string>;

    std::size_t top = 10;  ///< Mappings to return.
    /// Calls `work` with each number below `count`, in any order and on any threads, and meanwhile
    /// `watch` with how many calls have returned. Empty: one after the other.
    std::function<void(std::size_t count, const Work& work, const Work& watch)> each = {};
    /// Asked before each mapping, also by `each`'s threads; true ends the search. Empty: never.
    std::function<bool()> stop = {};
    /// Makes the model of the fabric that times the quickest mappings again; it may not be quicker
    /// than LinkCommunication. Empty: rates and latencies alone.
    std::function<Network()> network = {};
    /// Told how many mappings of a stage are done. May be empty.
    std::function<void(SearchStage stage, std::size_t done, std::size_t all)> tell = {};
};

struct SearchResult {
    std::uint64_t mappings = 0;  ///< Mappings whose degrees divide model, batch and GPUs.
    std::uint64_t fitting = 0;   ///< Mappings that fit in memory.
    std::size_t refined = 0;     ///< Mappings that the model of the fabric timed.
    /// Mappings that the model of the fabric did not time, although rates and latencies alone do
    /// not exclude that they are quicker than the first of `best`.
    std::uint64_t open = 0;
    /// The same of the last of `best`: such a mapping may belong among them.
    std::uint64_t open_rows = 0;
    bool stopped = false;  ///< Whether `stop` ended the search.
    std::vector<Candidate> best = {};
};

/// Returns the quickest mappings. The first is quicker than all others of the space, or as quick,
/// unless `open` or `stopped` says otherwise. The error is that of the model of the fabric.
std::expected<SearchResult, std::string> search(const Model& model, const Cluster& cluster,
                                                const SearchSpace& space, const SearchRun& run);

}  // namespace softib::plan
