// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Networks for one cluster that differ in one thing (`softib plan compare`).

#include <expected>
#include <string>

#include "answer/question.h"
#include "plan/compare/comparison.h"

namespace softib::answer {

std::expected<plan::Comparison, Refusal> compare(const CompareQuestion& question,
                                                 const Watch& watch = {});

std::string to_json(const plan::Comparison& comparison);

}  // namespace softib::answer
