// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The send requests of one queue pair, from posting to completion. Packets are made from their
// request whenever they are sent, so none must be kept for sending it again.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/hca/context.h"
#include "core/hca/work_request.h"

namespace softib::hca {

struct SendWqe {
    std::uint64_t wr_id;
    WrOpcode opcode;
    std::uint8_t flags;
    WcStatus local_error;  ///< Found before it is sent; reported when it is the oldest request.
    bool executed;         ///< It is a local operation, and was executed.
    std::uint32_t num_sge;
    std::uint32_t length;
    std::uint32_t imm_or_rkey;
    std::uint64_t remote_addr;
    std::uint32_t rkey;
    std::uint32_t remote_srqn;
    std::uint64_t compare_add;
    std::uint64_t swap;
    Psn first_psn{};
    std::uint32_t psns;  ///< PSNs that it takes; 0: a local operation.
    std::uint32_t ssn;   ///< The send sequence number: counts messages, as the peer's MSN does.
    bool too_long;       ///< It has more bytes than a message may have.
};

constexpr bool is_local(WrOpcode opcode) {
    return opcode == WrOpcode::kLocalInv || opcode == WrOpcode::kBindMw;
}
constexpr bool is_atomic(WrOpcode opcode) {
    return opcode == WrOpcode::kCompareSwap || opcode == WrOpcode::kFetchAdd;
}
/// Returns whether a request is answered by a response of its own, not by an acknowledgement.
constexpr bool has_response(WrOpcode opcode) {
    return opcode == WrOpcode::kRead || is_atomic(opcode) || opcode == WrOpcode::kAtomicWrite;
}
/// Returns whether the response to a request brings data for local memory.
constexpr bool fills_memory(WrOpcode opcode) {
    return opcode == WrOpcode::kRead || is_atomic(opcode);
}
constexpr bool is_send(WrOpcode opcode) {
    return opcode == WrOpcode::kSend || opcode == WrOpcode::kSendImm ||
           opcode == WrOpcode::kSendInv;
}

constexpr bool carries_immediate(WrOpcode opcode) {
    return opcode == WrOpcode::kSendImm || opcode == WrOpcode::kWriteImm;
}

struct Addressed {
    AddressVector av{};
    Qpn qpn{};
    QKey qkey{};
};

class SendQueue {
  public:
    explicit SendQueue(const QpInit& init);

    /// Returns kInvalid if a request has too many SGEs, or inline data that is too long or not
    /// allowed; kFull if the queue has no room.
    PostError check(const WorkRequest& wr) const;
    /// Appends a request that was checked. The caller sets its PSNs.
    SendWqe& push(const WorkRequest& wr);

    // Indices count requests modulo 2^32. head() is the oldest request that is not completed,
    // tail() the next one to be posted.
    std::uint32_t head() const { return head_; }
    std::uint32_t tail() const { return tail_; }
    bool empty() const { return head_ == tail_; }
    SendWqe& at(std::uint32_t index) { return wqes_[index & mask_]; }
    const SendWqe& at(std::uint32_t index) const { return wqes_[index & mask_]; }
    const Addressed& address(std::uint32_t index) const { return addresses_[index & mask_]; }
    const BindRequest& bind(std::uint32_t index) const { return binds_[index & mask_]; }
    std::span<const Sge> sges(std::uint32_t index) const {
        return std::span(sges_).subspan(std::size_t{index & mask_} * sges_max_, at(index).num_sge);
    }
    void pop() { ++head_; }
    void clear() { head_ = tail_ = 0; }

    /// Returns whether the L_Keys of all SGEs of a request are valid, with `access`: kLocalWrite if
    /// the response will fill them.
    bool places_are_valid(const Context& context, Pd pd, std::uint32_t index,
                          std::uint32_t access) const;
    /// Gathers the part [offset, offset + length) of the request's bytes. Returns false if a key
    /// has become invalid.
    bool gather(const Context& context, Pd pd, std::uint32_t index, std::uint32_t offset,
                std::uint32_t length, Payload& out) const;
    /// Writes the payload to the request's SGEs, beginning `offset` bytes into them. Returns false,
    /// with nothing written, if they are too short or a key does not allow it.
    bool scatter(Context& context, Pd pd, std::uint32_t index, std::uint32_t offset,
                 const Payload& payload) const;

  private:
    std::vector<SendWqe> wqes_;
    std::vector<Sge> sges_;
    std::vector<std::uint8_t> inline_bytes_;
    std::vector<Addressed> addresses_;  ///< The destinations of datagrams; empty if connected.
    std::vector<BindRequest> binds_;
    std::uint32_t max_wr_;
    std::uint32_t sges_max_;
    std::uint32_t inline_max_;
    std::uint32_t inline_room_;  ///< Bytes of inline data that each request has room for.
    std::uint32_t mask_ = 0;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
};

/// The result of scatter_into(): unless it is kAll, nothing was written.
enum class Scattered : std::uint8_t { kAll, kTooShort, kNotAllowed };
/// Writes a payload to SGEs in their order, beginning `skip` bytes into them.
Scattered scatter_into(Context& context, Pd pd, std::span<const Sge> sges, std::uint32_t skip,
                       const Payload& payload);

/// Completes a request, if it is signaled or has failed.
void complete_send(QpCore& core, const SendWqe& wqe, WcStatus status);

}  // namespace softib::hca
