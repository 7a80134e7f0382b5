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
    double tokens = 0;         ///< To train on; 0: nobody asked.
    std::string network = {};  ///< How exchanges were timed: "flow".
};

/// Tables of a report, each row as its cells.
using Rows = std::vector<std::vector<std::string>>;
Rows part_rows(const plan::Step& step);           ///< Part of the step, time, share.
Rows byte_rows(const Report& report);             ///< Dimension, ranks, exposed, NVLink, fabric.
Rows memory_rows(const plan::MemoryUse& memory);  ///< Part, GiB.
/// What the bytes are, and how exchanges were timed.
std::string network_text(const std::string& network);
std::string summary(const Report& report);  ///< One line: step, MFU, tokens a second.

std::string to_text(const Report& report);
std::string to_json(const Report& report);
std::string to_html(const Report& report);

struct Search {
    plan::Model model = {};
    plan::Cluster cluster = {};
    std::uint32_t gpus = 0;
    std::uint64_t mappings = 0;  ///< That divide.
    std::uint64_t fitting = 0;   ///< That fit in memory.
    std::string network = {};    ///< How exchanges of the best were timed.
    std::size_t refined = 0;     ///< The best by rates alone that the network timed again.
    double seconds = 0;          ///< That the search took.
    bool stopped = false;        ///< By the user.
    std::vector<plan::Candidate> best = {};
};

std::string to_text(const Search& search);
std::string to_json(const Search& search);

std::string models_text();
std::string models_json();

}  // namespace softib::app::train
