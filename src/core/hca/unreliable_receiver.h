// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The receiving ends of UC and UD (IBA vol. 1, 9.8.2 and 9.8.3). They do not report losses. A UC
// queue pair drops a message of which a packet is missing, and goes on with the next one.

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

/// Receives a datagram that was checked into a receive request of its queue pair. The first 40
/// bytes of the buffer are for the GRH, whether the datagram has one or not.
void receive_datagram(QpCore& core, ReceiveQueue* own, const wire::PacketHeaders& headers,
                      const Payload& payload);

}  // namespace softib::hca
