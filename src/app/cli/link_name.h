// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "runtime/shm/arena.h"

namespace softib::app {

/// A port as a user names it: "sw0:3", "h1:1", "h1/mlx5_0".
struct LinkName {
    std::string node;
    std::uint8_t port = 1;
};
std::expected<LinkName, std::string> parse_link(const std::string& text);

/// Returns the name of a switch port, given by its index in the arena's table, as parse_link()
/// takes it.
std::string switch_port_name(const shm::Arena& arena, std::uint32_t switch_port);

}  // namespace softib::app
