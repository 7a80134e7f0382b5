// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers with the files of the web page (src/page), which are inside the program.

#include <optional>

#include "server/http.h"

namespace softib::server {

/// Returns std::nullopt if the path is none of the page's: "/", or "/page/NAME".
std::optional<Response> page_response(const Request& request);

}  // namespace softib::server
