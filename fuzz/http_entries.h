// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Bytes of a client of softib serve. By their first byte they are a connection as they are, the
/// path and query of a GET, or path and JSON of a client that has the token. Whatever comes, the
/// answers are HTTP, and nothing is changed for who has no token.
bool http_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
