// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The message that a connected queue pair is receiving: the packets of a SEND or RDMA WRITE in
// their order, checked and placed one by one. Reliable and unreliable connections share this code.
// The caller has checked the PSN, and decides what a fault means.

#include <cstdint>
#include <optional>

#include "core/hca/context.h"
#include "core/hca/message_packet.h"

namespace softib::hca {

enum class Fault : std::uint8_t {
    kNone,
    kNotReady,  ///< There is no receive request; nothing has changed.
    kTooLong,   ///< The message is too long for its receive request.
    kInvalidRequest,
    kInvalidate,  ///< The R_Key that the message asks to invalidate is wrong.
    kRemoteAccess,
    kRemoteOperational,
};

struct Accepted {
    Fault fault = Fault::kNone;
    bool finished = false;        ///< The message is complete.
    bool receive_failed = false;  ///< Its receive request failed, so the queue pair must stop.
};

/// The protection domains, shared receive queue and completion queue that a packet uses.
struct Domain {
    Pd rdma{};
    Pd receive{};
    std::optional<SrqId> srq;
    CqId cq{};
};
/// Returns the domain of a request; std::nullopt for an XRC request that names no shared receive
/// queue of this XRC domain (IBA vol. 1, annex A14).
std::optional<Domain> domain_of(QpCore& core, const wire::PacketHeaders& headers);

/// Returns the memory that a request wants to access; std::nullopt if the queue pair or the R_Key
/// does not allow it.
std::optional<Place> remote_place(QpCore& core, const wire::PacketHeaders& headers,
                                  std::uint32_t rkey, std::uint64_t addr, std::uint32_t length,
                                  std::uint32_t access);

class InboundMessage {
  public:
    InboundMessage(QpCore& core, ReceiveQueue* own) : core_(core), own_(own) {}

    bool active() const { return kind_ != Kind::kNone; }
    Accepted accept(const wire::PacketHeaders& headers, wire::Operation operation,
                    const Payload& payload);
    /// Drops the message of an unreliable connection, because a packet is missing or was wrong.
    void abandon();
    /// Completes the receive request of an unfinished message as flushed.
    void flush();
    void reset() {
        kind_ = Kind::kNone;
        held_ = false;
    }

  private:
    enum class Kind : std::uint8_t { kNone, kSend, kWrite };
    struct Write {
        std::uint64_t addr = 0;
        std::uint32_t rkey = 0;
        std::uint32_t left = 0;
        std::uint32_t length = 0;
    };

    bool in_sequence(const PacketRole& role, const wire::PacketHeaders& headers) const;
    Fault check_write(const wire::PacketHeaders& headers, const PacketRole& role, Write& write,
                      std::uint32_t bytes);
    bool hold_receive(const Domain& domain);
    WcStatus place_send(const Domain& domain, const Payload& payload);
    bool place_write(const wire::PacketHeaders& headers, Write& write, const Payload& payload);
    void complete_receive(const wire::PacketHeaders& headers, const PacketRole& role,
                          const Domain& domain, WcStatus status);
    Accepted refuse_send(const wire::PacketHeaders& headers, const PacketRole& role,
                         const Domain& domain, WcStatus status);
    Accepted finish(const wire::PacketHeaders& headers, const PacketRole& role,
                    const Domain& domain);
    /// Completes the receive request that the message holds, if it holds one.
    void end_receive(WcStatus status);

    QpCore& core_;
    ReceiveQueue* own_;
    Kind kind_ = Kind::kNone;
    bool held_ = false;
    CqId held_cq_;
    std::uint32_t srq_ = 0;       ///< XRC: the XRCSRQ in the message's first packet.
    std::uint32_t received_ = 0;  ///< SEND: the bytes received so far.
    Write write_;
    TakenReceive receive_{};
};

}  // namespace softib::hca
