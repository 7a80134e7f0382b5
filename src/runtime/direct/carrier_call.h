// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The program's end of the packet path (runtime/shm/packet_queue.h): send rings and calls to the
// carrier.

#include "runtime/shm/packet_queue.h"

namespace softib::direct {

class Process;

/// Allocates a send ring in the arena. The caller has set `entries`, `sges_max` and `inline_max`.
/// Returns false if the arena is full.
bool send_ring_init(Process& process, shm::SendRing& ring);
void send_ring_free(Process& process, shm::SendRing& ring);

/// Calls the carrier and waits for its answer: 0 or an errno value. `carrier` is the lock word of
/// the carrier that knows the object; the call returns EIO if that one has ended. If `carrier` is
/// 0, any carrier will do: the call waits for one to start if there is none, and stores its lock
/// word in `carrier`.
int call_carrier(Process& process, shm::CarrierCall::Op op, std::uint32_t index,
                 shm::LockWord& carrier, const hca::QpAttr& attr = {}, std::uint32_t mask = 0);

}  // namespace softib::direct
