// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Compression of responses. The HTTP library could do it too, but it uses brotli at its slowest
// level, which takes seconds for a snapshot of 10,000 hosts.

#include "server/http.h"

namespace softib::server {

/// Returns whether the client accepts gzip.
bool takes_gzip(const Request& request);
/// Compresses a long response if the client accepts gzip, unless it is compressed already.
void encode_for(const Request& request, Response& response);

}  // namespace softib::server
