// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Times of a collective operation over sizes and algorithms (`softib plan collective`).

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "answer/question.h"
#include "plan/collective/collective_model.h"

namespace softib::answer {

struct TimedRow {
    std::uint64_t bytes = 0;
    plan::Algorithm algorithm = plan::Algorithm::kRing;
    plan::Timing timing = {};
};

struct CollectiveReport {
    CollectiveQuestion question = {};
    plan::Op op = plan::Op::kAllReduce;
    std::uint32_t ranks = 0;
    std::vector<TimedRow> rows = {};
    std::vector<std::string> notes = {};        ///< Why an algorithm has no time.
    std::vector<std::string> assumptions = {};  ///< The model, and what it assumes.
    std::vector<std::string> evidence = {};     ///< What validates the rows, by algorithm.
};

/// The times, and the model that they are from.
struct TimedCollective {
    CollectiveReport report = {};
    std::unique_ptr<plan::CollectiveModel> model = {};
};

/// Times what a question asks for. With `exports` that must be one size and one algorithm.
std::expected<TimedCollective, Refusal> time_collective(const CollectiveQuestion& question,
                                                        const Watch& watch = {},
                                                        bool exports = false);

std::string to_json(const CollectiveReport& report);

}  // namespace softib::answer
