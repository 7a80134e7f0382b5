// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "runtime/shm/arena.h"

namespace softib::live {

/// The arena of the fabric in this directory, read-only, for as long as the process lives; base is
/// nullptr where no daemon answers.
Arena observe(const char* fabric_dir);

}  // namespace softib::live
