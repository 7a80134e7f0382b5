// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes the flows of a datagram queue pair: what it has sent to each LID. runtime/shm/flows.h
// defines them; only the process that owns the queue pair writes them.

#include "runtime/shm/flows.h"

namespace softib::direct {

class Process;

/// Frees all flows of a queue pair. The caller has settled what they counted.
void flows_free(Process& process, shm::QpShared& qp);

/// Returns the flow to this LID, and makes it if there is none. The reference is valid until the
/// next call.
shm::Flow& flow_to(Process& process, shm::QpShared& qp, Lid dlid);

}  // namespace softib::direct
