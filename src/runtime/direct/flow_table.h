// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How the process of a datagram queue pair writes its flows (runtime/shm/flows.h says what they
// are).

#include "runtime/shm/flows.h"

namespace softib::live {

class Process;

/// Takes all flows away. What they counted is settled before.
void flows_free(Process& process, QpShared& qp);

/// The flow to this LID, made if there is none. The reference is good until the next call.
Flow& flow_to(Process& process, QpShared& qp, Lid dlid);

}  // namespace softib::live
