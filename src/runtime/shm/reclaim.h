// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "runtime/shm/arena.h"

namespace softib::live {

/// Frees everything a dead process held in the arena: its queue pairs stop answering, receive
/// requests it had taken from others' shared queues go back, its table entries and memory are
/// freed, and its slot becomes usable again. The daemon calls it; it runs against living peers.
void reclaim(const Arena& arena, Owner owner);

/// Makes every attached process check its objects, after a process that worked on all of them has
/// died.
void alert_all(const Arena& arena);

}  // namespace softib::live
