// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What `softib plan train`, `search` and `models` print: text for a terminal or a pipe, JSON, and a
// page of HTML with the timeline of a step.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/train/search.h"
#include "plan/train/step.h"

namespace softib::app::train {

struct Report {
    plan::Model model = {};
    plan::Cluster cluster = {};
    plan::Mapping mapping = {};
    plan::Step step = {};
    double tokens = 0;         ///< Tokens to train on; 0: the user did not say.
    std::string network = {};  ///< How exchanges were timed: "flow".
};

/// Tables of a report, each row as its cells.
using Rows = std::vector<std::vector<std::string>>;
/// Returns the parts of a step: name, time, share of the step.
Rows part_rows(const plan::Step& step);
/// Returns the exchanges of each dimension of parallelism: name, ranks, time that is not hidden by
/// computation, bytes on NVLink, bytes on the fabric.
Rows byte_rows(const Report& report);
/// Returns the parts of a GPU's memory use: name, GiB.
Rows memory_rows(const plan::MemoryUse& memory);
/// Returns a sentence about what the bytes count and how exchanges were timed.
std::string network_text(const std::string& network);
/// Returns one line with the time of a step, MFU and tokens a second, and a second line with the
/// days of training if the user has said on how many tokens.
std::string summary(const Report& report);

std::string to_text(const Report& report);
std::string to_json(const Report& report);
std::string to_html(const Report& report);

struct Search {
    plan::Model model = {};
    plan::Cluster cluster = {};
    std::uint32_t gpus = 0;
    std::uint64_t mappings = 0;  ///< Mappings whose degrees divide model, batch and GPUs.
    std::uint64_t fitting = 0;   ///< Mappings that fit in memory.
    std::string network = {};    ///< How exchanges of the best mappings were timed: "flow".
    std::size_t refined = 0;     ///< Mappings, the best by link rates, that `network` timed again.
    double seconds = 0;          ///< Time that the search took.
    bool stopped = false;        ///< Whether the user stopped the search.
    std::vector<plan::Candidate> best = {};
};

std::string to_text(const Search& search);
std::string to_json(const Search& search);

std::string models_text();
std::string models_json();

}  // namespace softib::app::train
