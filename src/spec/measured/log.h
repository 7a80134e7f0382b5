// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads what benchmarks print: nccl-tests, OSU's micro-benchmarks and perftest (its JSON too), and
// what NCCL says of itself beside them (NCCL_DEBUG=INFO). A log may hold anything else: lines that
// belong to none of these are passed over, and what launchers put before a line is taken away
// (mpirun --tag-output, srun --label, times).

#include <expected>
#include <string>

#include "plan/expect/benchmark.h"

namespace softib::spec {

struct LogText {
    std::string file = {};
    std::string text = {};
};

/// Parses a log. The error names the file, the line of a row that cannot be read, and says so if
/// nothing in the file is the output of a benchmark.
std::expected<plan::MeasuredLog, std::string> parse_log(const LogText& log);

/// Adds the tables, facts and notes of a log to those of another.
void append(plan::MeasuredLog& all, plan::MeasuredLog more);

}  // namespace softib::spec
