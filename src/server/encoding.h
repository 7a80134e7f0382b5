// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Compression of answers. The HTTP library would do it too, but by brotli at its slowest, which
// takes seconds for a snapshot of 10,000 hosts.

#include <optional>
#include <string>
#include <string_view>

#include "server/http.h"

namespace softib::server {

std::string gzip(std::string_view plain);
/// Returns std::nullopt if these are no gzip bytes, or more than `most` come out of them.
std::optional<std::string> gunzip(std::string_view packed, std::size_t most);

bool takes_gzip(const Request& request);
/// Compresses a long answer for a client that takes it, unless it is compressed already.
void encode_for(const Request& request, Response& response);

}  // namespace softib::server
