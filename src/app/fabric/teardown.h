// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace softib::app {

/// Ends every program of this user that runs on the fabric in `dir`, however it was started. It
/// finds them by SOFTIB_DIR in their environment, and sends SIGTERM, and SIGKILL after two seconds.
void end_programs(const std::string& dir);

}  // namespace softib::app
