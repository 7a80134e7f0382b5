// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The program's end of the packet path (runtime/shm/packet_queue.h): send rings and calls to the
// carrier.

#include "runtime/shm/packet_queue.h"

namespace softib::live {

class Process;

bool send_ring_init(Process& process, SendRing& ring);  ///< entries, sges_max, inline_max are set.
void send_ring_free(Process& process, SendRing& ring);

/// A call to the carrier: 0 or an errno value. `carrier`: the one that knows the object, EIO: it
/// has ended; 0: whichever there is, also one that is about to start, and then it is named here.
int call_carrier(Process& process, CarrierCall::Op op, std::uint32_t index, LockWord& carrier,
                 const hca::QpAttr& attr = {}, std::uint32_t mask = 0);

}  // namespace softib::live
