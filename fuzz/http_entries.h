// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Gives bytes to the server of `softib serve`, as if a client had sent them. The first byte
/// decides what the others are: the whole connection, the path and query of a GET, or the path and
/// JSON of a client that has the token. Returns whether the answers are HTTP, and nothing was
/// changed for a client without the token.
bool http_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
