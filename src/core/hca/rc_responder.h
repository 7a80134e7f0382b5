// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The responder of a reliable connection, RC or XRC (IBA vol. 1, 9.7.4 and 9.7.5). It executes
// requests as they arrive; the responses wait in a ring until the port has room. Adjacent
// acknowledgements are merged, since each covers all before it. The data of a READ response is read
// from memory when the response is sent, not when the request arrives.

#include <cstdint>
#include <vector>

#include "core/hca/aeth.h"
#include "core/hca/inbound_message.h"
#include "core/hca/psn.h"

namespace softib::hca {

class RcResponder {
  public:
    RcResponder(QpCore& core, ReceiveQueue* own);

    /// Begins to expect requests from the queue pair's rq_psn on. Called when it enters RTR.
    void start();
    /// Makes room for as many READs and atomics as the attributes (max_dest_rd_atomic) allow.
    void reserve();
    void handle_request(const wire::PacketHeaders& headers, wire::Operation operation,
                        const Payload& payload);
    /// Makes the next response. Returns false if there is none.
    bool poll_transmit(Transmit& out);
    bool has_responses() const { return count_ != 0; }

    /// Makes the responder answer no further requests. With `say_last_words` the waiting responses
    /// are still sent if the newest of them is marked as last words, like a NAK that ends the
    /// connection; otherwise they are dropped.
    void stop(bool say_last_words);
    InboundMessage& inbound() { return inbound_; }

    std::uint32_t msn() const { return msn_; }

  private:
    /// The most answers to duplicate requests in the ring; further duplicates are dropped. It is as
    /// many as the READs and atomics that a requester can have outstanding.
    static constexpr std::uint32_t kRepeatedMax = kRdAtomicMax;

    /// A READ or atomic that the requester may request again.
    struct Resource {
        enum class Kind : std::uint8_t { kNone, kRead, kAtomic, kAtomicWrite } kind{};
        Psn psn{};
        std::uint32_t psns = 0;
        std::uint64_t addr = 0;
        std::uint32_t rkey = 0;
        std::uint32_t length = 0;
        AtomicOperands operands{};
        std::uint64_t original = 0;
    };
    struct Response {
        enum class Kind : std::uint8_t { kAck, kNak, kRead, kAtomic } kind{};
        bool repeated = false;    ///< It answers a duplicate request.
        bool last_words = false;  ///< It may still be sent after the responder has stopped.
        Syndrome syndrome{};      ///< kNak only.
        Psn psn{};
        std::uint32_t sent = 0;  ///< kRead: the packets of it that were sent.
        std::uint32_t psns = 0;
        std::uint64_t addr = 0;
        std::uint32_t rkey = 0;
        std::uint32_t length = 0;
        std::uint32_t srq = 0;  ///< XRC: the shared receive queue, for its protection domain.
        std::uint64_t original = 0;
    };

    // rc_responder.cc: requests in sequence
    void accept_read(const wire::PacketHeaders& headers);
    void accept_atomic(const wire::PacketHeaders& headers, wire::Operation operation);
    void accept_atomic_write(const wire::PacketHeaders& headers, const Payload& payload);
    void accept_message(const wire::PacketHeaders& headers, wire::Operation operation,
                        const Payload& payload);
    bool too_many_outstanding() const { return fresh_ >= core_.attr.max_dest_rd_atomic; }
    void advance(std::uint32_t psns);
    void finish_message() { msn_ = add24(msn_, 1); }
    void refuse(Fault fault, Psn psn);
    void out_of_sequence();
    /// Keeps a READ or atomic for duplicates of the request, and advances the expected PSN by its
    /// PSNs.
    const Resource& keep(const Resource& resource);

    // rc_responder_duplicate.cc
    void handle_duplicate(const wire::PacketHeaders& headers, wire::Operation operation);
    void repeat_read(const wire::PacketHeaders& headers);
    void repeat_atomic(const wire::PacketHeaders& headers, wire::Operation operation);
    void repeat_atomic_write(const wire::PacketHeaders& headers);
    Resource* find_resource(Psn psn, Resource::Kind kind);
    Response* find_response(Psn behind, Response::Kind kind);
    void say_in_order(const Response& response);

    // rc_responder_transmit.cc
    void acknowledge();
    void say(const Response& response);
    Response& response_at(std::size_t i) { return responses_[(head_ + i) % responses_.size()]; }
    Response& front() { return responses_[head_]; }
    void pop();
    bool transmit_read(Transmit& out);
    void transmit_short(Transmit& out);
    Syndrome credits() const;

    QpCore& core_;
    ReceiveQueue* own_;
    InboundMessage inbound_;
    Psn expected_;
    std::uint32_t msn_ = 0;
    bool nak_sent_ = false;  ///< A NAK was sent for the loss at expected_; no other one is.
    bool stopped_ = false;
    std::vector<Resource> resources_;
    std::size_t resource_next_ = 0;
    std::vector<Response> responses_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
    std::uint32_t fresh_ = 0;     ///< Answers to new READs and atomics in the ring.
    std::uint32_t repeated_ = 0;  ///< Answers to duplicate READs and atomics in the ring.
};

AtomicOperands operands_of(const wire::PacketHeaders& headers, wire::Operation operation);

}  // namespace softib::hca
