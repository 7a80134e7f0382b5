// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/message_packet.h"

namespace softib::hca {

PacketRole role_of(wire::Operation operation) {
    using O = wire::Operation;
    switch (operation) {
        case O::kSendFirst:
            return {.send = true, .first = true};
        case O::kSendMiddle:
            return {.send = true};
        case O::kSendLast:
            return {.send = true, .last = true};
        case O::kSendLastImm:
            return {.send = true, .last = true, .immediate = true};
        case O::kSendLastInvalidate:
            return {.send = true, .last = true, .invalidate = true};
        case O::kSendOnly:
            return {.send = true, .first = true, .last = true};
        case O::kSendOnlyImm:
            return {.send = true, .first = true, .last = true, .immediate = true};
        case O::kSendOnlyInvalidate:
            return {.send = true, .first = true, .last = true, .invalidate = true};
        case O::kWriteFirst:
            return {.write = true, .first = true};
        case O::kWriteMiddle:
            return {.write = true};
        case O::kWriteLast:
            return {.write = true, .last = true};
        case O::kWriteLastImm:
            return {.write = true, .last = true, .immediate = true};
        case O::kWriteOnly:
            return {.write = true, .first = true, .last = true};
        case O::kWriteOnlyImm:
            return {.write = true, .first = true, .last = true, .immediate = true};
        default:
            return {};
    }
}

wire::Operation message_operation(WrOpcode opcode, bool first, bool last) {
    using O = wire::Operation;
    const bool write = opcode == WrOpcode::kWrite || opcode == WrOpcode::kWriteImm;
    if (!last) {
        return write ? (first ? O::kWriteFirst : O::kWriteMiddle)
                     : (first ? O::kSendFirst : O::kSendMiddle);
    }
    switch (opcode) {
        case WrOpcode::kWrite:
            return first ? O::kWriteOnly : O::kWriteLast;
        case WrOpcode::kWriteImm:
            return first ? O::kWriteOnlyImm : O::kWriteLastImm;
        case WrOpcode::kSendImm:
            return first ? O::kSendOnlyImm : O::kSendLastImm;
        case WrOpcode::kSendInv:
            return first ? O::kSendOnlyInvalidate : O::kSendLastInvalidate;
        default:
            return first ? O::kSendOnly : O::kSendLast;
    }
}

void set_message_headers(wire::PacketHeaders& headers, const SendWqe& wqe, const PacketRole& role) {
    if (role.write && role.first) {
        headers.reth = {.va = wqe.remote_addr, .r_key = wqe.rkey, .dma_len = wqe.length};
    }
    if (role.immediate) {
        headers.imm_dt.imm_dt = wqe.imm_or_rkey;
    }
    if (role.invalidate) {
        headers.ieth.r_key = wqe.imm_or_rkey;
    }
    const bool asks = role.last && (role.send || role.immediate);
    headers.bth.se = asks && (wqe.flags & kSendSolicited) != 0;
}

}  // namespace softib::hca
