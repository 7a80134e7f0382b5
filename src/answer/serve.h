// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A service by pools of prefill and decode nodes (`softib plan serve`).

#include <expected>
#include <string>

#include "answer/question.h"
#include "plan/serve/plan.h"

namespace softib::answer {

std::expected<plan::ServeAnswer, Refusal> serve(const ServeQuestion& question,
                                                const Watch& watch = {});

std::string to_json(const plan::ServeAnswer& answer);

}  // namespace softib::answer
