// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The packets of a SEND or RDMA WRITE, as both ends see them (IBA vol. 1, 9.4).

#include "core/hca/send_queue.h"
#include "core/wire/packet/packet.h"

namespace softib::hca {

/// What an operation's name says about the packet: SEND or WRITE, First, Middle, Last or Only.
struct PacketRole {
    bool send = false;
    bool write = false;
    bool first = false;  ///< "First" or "Only".
    bool last = false;   ///< "Last" or "Only".
    bool immediate = false;
    bool invalidate = false;
};
PacketRole role_of(wire::Operation operation);

wire::Operation message_operation(WrOpcode opcode, bool first, bool last);
/// Sets RETH, immediate data, the R_Key to invalidate and the solicited event bit, where the packet
/// has them.
void set_message_headers(wire::PacketHeaders& headers, const SendWqe& wqe, const PacketRole& role);

}  // namespace softib::hca
