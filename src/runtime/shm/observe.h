// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "runtime/shm/arena.h"

namespace softib::live {

/// The arena of the fabric in this directory, read-only, for as long as the process lives; base is
/// nullptr where no daemon answers.
Arena observe(const char* fabric_dir);

/// The same, opened once for each directory and never closed: for libraries in programs that may
/// own an HCA too. An owner's sign of life is a lock on the arena's file, and the kernel takes a
/// process's locks away when the process closes any descriptor of that file (fcntl(2)).
const Arena& observe_for_life(const char* fabric_dir);

}  // namespace softib::live
