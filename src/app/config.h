// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The description of a fabric, from a TOML file, from flags, or from both (flags win). The keys
// of the file are the long flags with '_' for '-'; both go through one table of keys, so that
// they accept the same values and say the same when they refuse one.
//
//   topology = "fat-tree"    # single-switch, fat-tree, torus, dragonfly
//   hosts = 16
//   hcas = 2                 # per host
//   generation = "NDR"
//
// Errors are complete sentences for the user; those of a file begin with FILE:LINE:COLUMN.

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/fabric.h"
#include "runtime/live/arena.h"

namespace softib::app {

struct Description {
    topo::Spec spec;
    std::uint64_t arena_bytes = live::arena_bytes_default();
    /// Where each key was given: "lab.toml:3:1" or "--hosts". For errors that show up only when
    /// the whole is looked at.
    std::map<std::string, std::string, std::less<>> origins;
};

/// One key as the user may give it.
struct ConfigKey {
    std::string_view name;     ///< As in the file: "hosts_per_switch".
    std::string_view operand;  ///< As in the help: "N".
    std::string_view help;
};
const std::vector<ConfigKey>& config_keys();

/// "hosts_per_switch" -> "--hosts-per-switch".
std::string flag_name(std::string_view key);

using Result = std::expected<void, std::string>;

/// Reads a description on top of `description`.
Result parse_description(std::string_view text, const std::string& file, Description& description);
Result load_description(const std::string& file, Description& description);

/// Sets one key from a flag's text.
Result apply_flag(std::string_view key, const std::string& value, Description& description);

/// Generates the fabric; a refusal is traced back to where the offending value was given.
std::expected<topo::Fabric, std::string> generate(const Description& description);

/// The description as a file that reads back to the same.
std::string to_toml(const Description& description);

/// "4G", "512MiB", "65536".
std::expected<std::uint64_t, std::string> parse_bytes(std::string_view text);

}  // namespace softib::app
