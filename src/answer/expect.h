// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What benchmarks should give on a cluster, beside what they gave (`softib plan expect`).

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "answer/question.h"
#include "plan/expect/diagnosis.h"

namespace softib::answer {

struct ExpectReport {
    ExpectQuestion question = {};
    bool measured = false;  ///< Whether there is a log; else tables have no measured values.
    plan::Diagnosis diagnosis = {};
    std::vector<std::string> notes = {};        ///< What was left out, and what surprises.
    std::vector<std::string> assumptions = {};  ///< The models, and what "off" means.
    std::vector<std::string> evidence = {};     ///< What validates the rows.
};

/// Answers a question. A fault of the log or of the question is a misuse.
std::expected<ExpectReport, Refusal> expect(const ExpectQuestion& question,
                                            const plan::DiagnosisWatch& watch = {});

std::string to_json(const ExpectReport& report);

}  // namespace softib::answer
