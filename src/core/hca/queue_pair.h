// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue pair: its state, the requester and responder that its type has, and what a change of
// state does to them.

#include <cstdint>
#include <optional>

#include "core/hca/context.h"
#include "core/hca/rc_requester.h"
#include "core/hca/rc_responder.h"
#include "core/hca/unreliable_receiver.h"
#include "core/hca/unreliable_sender.h"

namespace softib::hca {

class QueuePair {
  public:
    QueuePair(Context& context, const QpInit& init, Qpn qpn);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    const QpCore& core() const { return core_; }
    void owe_becn() { core_.becn_due = true; }
    /// Enters the error state if one of its completion queues has lost a completion.
    void stop_if_overrun();
    QpAttr attributes() const;
    std::uint64_t deadline_ns() const;
    /// Returns whether the responder has acknowledgements or data to send.
    bool has_responses() const { return responder_ && responder_->has_responses(); }
    /// Returns whether there are requests that wait only for their turn to be sent.
    bool has_unsent() const {
        return requester_ ? requester_->has_unsent() : sender_ && sender_->has_unsent();
    }
    bool has_unacknowledged() const { return requester_ && requester_->has_unacknowledged(); }
    /// Returns the service level of the next packet.
    std::uint8_t service_level() const {
        const std::optional<std::uint8_t> next = sender_ ? sender_->next_level() : std::nullopt;
        return next.value_or(core_.attr.av.sl) % kServiceLevels;
    }
    std::uint32_t receives_waiting() const { return receives_ ? receives_->size() : 0; }

    // Commands.
    /// Changes attributes; `mask` has bits of qp_attr. Returns false, with nothing changed, if the
    /// change is not allowed.
    bool modify(const QpAttr& attr, std::uint32_t mask);
    PostError post_send(const WorkRequest& wr);
    PostError post_receive(std::uint64_t wr_id, std::span<const Sge> sges);

    // Inputs.
    /// Handles a packet. The caller has checked that it is for this queue pair, of its transport
    /// and from its peer.
    void handle_packet(const wire::PacketHeaders& headers, wire::Operation operation,
                       const Payload& payload, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);

    /// Makes the next packet. Returns false if there is nothing to send before the next input.
    bool poll_transmit(Transmit& out, std::uint64_t now_ns);

  private:
    void enter(QpState to);
    void enter_error(bool say_last_words);
    void reset();
    void flush_receives();
    bool transmit_request(Transmit& out, std::uint64_t now_ns);
    /// Enters the error state if the requester or the responder has failed.
    void settle();
    void established();

    QpCore core_;
    std::optional<ReceiveQueue> receives_;
    std::optional<RcRequester> requester_;
    std::optional<RcResponder> responder_;
    std::optional<UnreliableSender> sender_;
    std::optional<UcReceiver> receiver_;
    bool request_next_ = false;  ///< Requests and responses take turns.
    bool established_ = false;
};

}  // namespace softib::hca
