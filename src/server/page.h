// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Serves the files of the web page (src/page), which are built into the program.

#include <optional>

#include "server/http.h"

namespace softib::server {

/// Answers "/" and "/page/NAME". Returns std::nullopt for other paths.
std::optional<Response> page_response(const Request& request);

}  // namespace softib::server
