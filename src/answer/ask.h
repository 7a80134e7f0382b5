// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Questions to the planner as a text in TOML, whose key `ask` says what is asked:
//
//   ask = "train"              # or "search", "models", "presets", "show", "collective", "compare",
//   "expect" model = "gpt3-175b"        # keys of spec/train/question.h, or of plan_keys.cc cluster
//   = "superpod-h100"

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "answer/networks.h"

namespace softib::answer {

/// Returns the answer in JSON, as the command prints it, or a sentence for the user that says what
/// is wrong with the question. Returns std::nullopt if the text has no key `ask`, and so is no
/// question to the planner. Names of files in it are relative to `folder`.
std::optional<std::expected<std::string, std::string>> ask(std::string_view text,
                                                           const std::string& folder);
/// Does the same with what earlier questions left. Several threads may ask with the same networks.
std::optional<std::expected<std::string, std::string>> ask(std::string_view text,
                                                           const std::string& folder,
                                                           Networks& networks);

}  // namespace softib::answer
