// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The send queue of a UC or UD queue pair (IBA vol. 1, 9.8). A request is complete when its last
// packet has been sent. An error stops only the send queue (10.3.1.6).

#include <cstdint>
#include <optional>

#include "core/hca/psn.h"
#include "core/hca/send_queue.h"

namespace softib::hca {

class UnreliableSender {
  public:
    explicit UnreliableSender(QpCore& core) : core_(core), queue_(core.init) {}

    void start() { psn_ = Psn{core_.attr.sq_psn & kPsnMask}; }
    PostError post(const WorkRequest& wr);
    bool poll_transmit(Transmit& out);
    /// Returns the service level of the next datagram; std::nullopt if there is none, or if the
    /// queue pair is a connection, which has one service level for all packets.
    std::optional<std::uint8_t> next_level() const;
    bool has_unsent() const { return core_.state == QpState::kRts && !queue_.empty(); }
    void drain();
    void flush();
    void reset();

  private:
    bool allowed(const WorkRequest& wr) const;
    WcStatus check(const SendWqe& wqe) const;
    WcStatus execute_local(const SendWqe& wqe);
    bool build_datagram(const SendWqe& wqe, Transmit& out) const;
    bool build_message(const SendWqe& wqe, Transmit& out) const;
    void conclude(WcStatus status);

    QpCore& core_;
    SendQueue queue_;
    Psn psn_;
    std::uint32_t packet_ = 0;  ///< The packets of the oldest request that were sent.
};

}  // namespace softib::hca
