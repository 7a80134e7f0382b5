// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Compares what was measured with what a cluster should give, and finds the faults that explain the
// difference: the model computes each table again with each fault planted, and the fault is the
// likelier, the less is left between its figures and those that were measured.

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/expect/benchmark.h"
#include "plan/expect/expectation.h"
#include "plan/expect/faults.h"

namespace softib::plan {

enum class Verdict : std::uint8_t {
    kOk,     ///< Within the interval.
    kSlow,   ///< Slower than all that is in it.
    kFast,   ///< Faster.
    kWrong,  ///< The benchmark found wrong values.
};
const char* to_string(Verdict verdict);  ///< "slow"

struct JudgedRow {
    MeasuredRow measured = {};
    Expected expected = {};
    Verdict verdict = Verdict::kOk;
    double slower = 1;  ///< How many times slower than expected.
};

/// A table of a run on nodes and GPUs that are known.
struct Run {
    MeasuredTable table = {};
    std::uint32_t nodes = 0;
    std::uint32_t per_node = 0;  ///< Ranks on each node.
};

struct JudgedTable {
    Run run = {};
    std::vector<JudgedRow> rows = {};
    std::string left_out = {};  ///< Why there is nothing to compare with; empty: there is.

    std::size_t off() const;  ///< Returns how many rows are off.
};

struct LikelyFault {
    const Fault* fault = nullptr;
    double level = 0;
    std::string text = {};
    double explained = 0;         ///< Part of the difference that it explains, by squares.
    double left = 0;              ///< What is left, in times of the interval's half width.
    std::size_t rows_within = 0;  ///< Rows that are within the interval around its figures.
    bool as_likely = false;       ///< Whether this log cannot tell it from the one before it.
    std::vector<Fact> speaks_for = {};
    std::vector<Fact> speaks_against = {};
};

struct Diagnosis {
    std::vector<JudgedTable> tables = {};
    std::size_t rows = 0;
    std::size_t off = 0;
    std::vector<LikelyFault> faults = {};  ///< The likeliest first.
    std::vector<Fact> facts = {};
};

/// Hears how far a diagnosis is; may be empty.
using DiagnosisWatch =
    std::function<void(std::size_t done, std::size_t all, const std::string& what)>;

/// Judges the rows of runs on a cluster. The error says what does not fit.
std::expected<Diagnosis, std::string> diagnose(const Setting& setting, std::vector<Run> runs,
                                               std::vector<Fact> facts,
                                               const DiagnosisWatch& watch = {});

}  // namespace softib::plan
