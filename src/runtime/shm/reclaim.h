// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "runtime/shm/arena.h"

namespace softib::shm {

/// Frees everything that a dead process had in the arena: its queue pairs stop answering, receive
/// requests that it had taken from shared queues of others go back, its table entries and memory
/// are freed, and its slot can be used again. For the daemon, while other processes go on working.
void reclaim(const Arena& arena, Owner owner);

/// Makes every attached process check its objects, after a process that works on all of them (the
/// carrier) has died.
void alert_all(const Arena& arena);

}  // namespace softib::shm
