// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "runtime/shm/arena.h"

namespace softib::shm {

/// Maps the arena of the fabric in this directory, read-only. The mapping stays until the process
/// ends. Returns an arena with base == nullptr if no daemon answers.
Arena observe(const char* fabric_dir);

/// Does the same as observe(), but maps the arena of each directory once and never closes its file:
/// for libraries in programs that may also be attached to the fabric. An attached process shows
/// that it lives by a lock on the arena's file, and the kernel releases a process's locks when the
/// process closes any descriptor of that file (fcntl(2)).
const Arena& observe_for_life(const char* fabric_dir);

}  // namespace softib::shm
