// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A transformer in a TOML file:
//
//   name = "mine"
//   base = "llama3.1-8b"     # a preset that has what is not said here
//   layers = 40
//   hidden = 5120
//
// The keys are the fields of plan::Model. If neither file nor base has them, kv_heads is equal to
// heads, and head_dim is hidden / heads. Errors are sentences that begin with FILE:LINE:COLUMN.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/train/model.h"

namespace softib::spec {

std::expected<plan::Model, std::string> parse_model(std::string_view text, const std::string& file);
std::expected<plan::Model, std::string> load_model(const std::string& file);
/// Returns a preset, the model of a file if the name ends with ".toml" or has a slash, or the model
/// that the name describes itself, if it is a text of several lines.
std::expected<plan::Model, std::string> named_model(const std::string& name);

/// A key of a model's file, with a value.
struct ModelKey {
    std::string_view name;
    std::variant<std::string, std::uint32_t, bool> value;
};
/// Returns all keys but `base`, with the values that a model has.
std::vector<ModelKey> keys_of(const plan::Model& model);

}  // namespace softib::spec
