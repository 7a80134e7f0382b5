// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace softib::app {

/// Ends every program of this user that was started on the fabric in `dir`, however it was started:
/// SOFTIB_DIR in its environment tells. It sends SIGTERM, and SIGKILL after two seconds.
void end_programs(const std::string& dir);

}  // namespace softib::app
