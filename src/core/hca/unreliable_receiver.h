// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The receiving ends of unreliable services (IBA vol. 1, 9.8.2 and 9.8.3). A loss is not reported.
// A connection drops a message of which a packet is missing, and goes on with the next.

#include "core/hca/inbound_message.h"
#include "core/hca/psn.h"

namespace softib::hca {

class UcReceiver {
  public:
    UcReceiver(QpCore& core, ReceiveQueue* own) : core_(core), inbound_(core, own) {}

    void start();
    void handle_packet(const wire::PacketHeaders& headers, wire::Operation operation,
                       const Payload& payload);
    InboundMessage& inbound() { return inbound_; }

  private:
    void give_up();

    QpCore& core_;
    InboundMessage inbound_;
    Psn expected_;
};

/// Hands one datagram to a queue pair that may have it. Its first 40 bytes are the GRH, or space.
void receive_datagram(QpCore& core, ReceiveQueue* own, const wire::PacketHeaders& headers,
                      const Payload& payload);

}  // namespace softib::hca
