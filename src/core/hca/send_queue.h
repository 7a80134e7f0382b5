// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The send requests of one queue pair, from posting to completion. Every packet is gathered from
// its request, so that it can be sent again without having been kept.

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
    WcStatus local_error;  ///< Found when its turn came; reported when it is the oldest.
    bool executed;         ///< A local operation that was done.
    std::uint32_t num_sge;
    std::uint32_t length;
    std::uint32_t imm_or_rkey;
    std::uint64_t remote_addr;
    std::uint32_t rkey;
    SrqId remote_srq{};
    std::uint64_t compare_add;
    std::uint64_t swap;
    Psn first_psn{};
    std::uint32_t psns;  ///< PSNs that it takes; 0: a local operation.
    std::uint32_t ssn;   ///< Counts messages, as the peer's MSN does.
    bool too_long;       ///< More bytes than a message may have.
};

constexpr bool is_local(WrOpcode opcode) {
    return opcode == WrOpcode::kLocalInv || opcode == WrOpcode::kBindMw;
}
constexpr bool is_atomic(WrOpcode opcode) {
    return opcode == WrOpcode::kCompareSwap || opcode == WrOpcode::kFetchAdd;
}
/// Answered by a response of its own, not by an acknowledgement.
constexpr bool has_response(WrOpcode opcode) {
    return opcode == WrOpcode::kRead || is_atomic(opcode) || opcode == WrOpcode::kAtomicWrite;
}
/// That brings data.
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

    /// kInvalid: too many places, or inline data where none may be.
    PostError check(const WorkRequest& wr) const;
    /// Appends a request that was checked; the transport fills its PSNs in.
    SendWqe& push(const WorkRequest& wr);

    // Indices run on for ever, modulo 2^32; `head` is the oldest request that is not completed.
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

    /// All places at once, before the first packet. `access`: kLocalWrite for what is filled.
    bool places_are_valid(const Context& context, Pd pd, std::uint32_t index,
                          std::uint32_t access) const;
    /// Gathers the part [offset, offset + length) of the request's bytes. Returns false if a key
    /// has become invalid.
    bool gather(const Context& context, Pd pd, std::uint32_t index, std::uint32_t offset,
                std::uint32_t length, Payload& out) const;
    /// The same part is filled.
    bool scatter(Context& context, Pd pd, std::uint32_t index, std::uint32_t offset,
                 const Payload& payload) const;

  private:
    std::vector<SendWqe> wqes_;
    std::vector<Sge> sges_;
    std::vector<std::uint8_t> inline_bytes_;
    std::vector<Addressed> addresses_;  ///< Datagrams only.
    std::vector<BindRequest> binds_;
    std::uint32_t max_wr_;
    std::uint32_t sges_max_;
    std::uint32_t inline_max_;
    std::uint32_t inline_room_;  ///< Bytes of inline data that each request has room for.
    std::uint32_t mask_ = 0;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
};

/// Fills places in order, beginning `skip` bytes into them. They may end too early, or a key not
/// allow it: then nothing is written.
enum class Scattered : std::uint8_t { kAll, kTooShort, kNotAllowed };
Scattered scatter_into(Context& context, Pd pd, std::span<const Sge> sges, std::uint32_t skip,
                       const Payload& payload);

/// Says that a request is done.
void complete_send(QpCore& core, const SendWqe& wqe, WcStatus status);

}  // namespace softib::hca
