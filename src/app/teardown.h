// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace softib::app {

/// Ends every program of this user that was started on the fabric in `dir`, however it was
/// started and whoever its parent is now: they are known by SOFTIB_DIR in their environment.
/// First politely, after two seconds for good.
void end_programs(const std::string& dir);

}  // namespace softib::app
