// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A responder whose requests a test writes packet by packet.

#include <cstdint>
#include <cstring>
#include <vector>

#include "probe.h"

namespace softib::transport {

inline constexpr Syndrome kNakSequence = nak(NakCode::kSequenceError);
inline constexpr Syndrome kNakInvalid = nak(NakCode::kInvalidRequest);
inline constexpr Syndrome kNakAccess = nak(NakCode::kRemoteAccessError);
inline constexpr Syndrome kNakOperational = nak(NakCode::kRemoteOperationalError);

/// Returns the eight bytes at an offset of an end's memory.
inline std::uint64_t word_at(Probe& p, int end, std::uint64_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, p.ends[end].at(offset), 8);
    return word;
}

/// A responder (end 1) whose requester sends only the packets that the test writes.
struct Responder : Probe {
    explicit Responder(const PairOptions& o = {}) : Probe(o) {
        lose = [](const Flight&) { return true; };
    }
    wire::PacketHeaders request(Operation op, std::uint32_t psn) { return headers(1, op, psn); }
    void take(const wire::PacketHeaders& h, const Bytes& payload = {}) {
        inject(1, h, payload);
        drive();
    }
    wire::PacketHeaders rdma(Operation op, std::uint32_t psn, std::uint64_t at,
                             std::uint32_t length) {
        auto h = request(op, psn);
        h.reth = {.va = ends[1].addr(at), .r_key = ends[1].key, .dma_len = length};
        return h;
    }
    wire::PacketHeaders add(std::uint32_t psn, std::uint64_t at, std::uint64_t value) {
        auto h = request(Operation::kFetchAdd, psn);
        h.atomic_eth = {
            .va = ends[1].addr(at), .r_key = ends[1].key, .swap_dt = value, .cmp_dt = 0};
        return h;
    }
    bool stopped() { return ends[1].hca.query_qp(ends[1].recv_qpn)->state == QpState::kErr; }
};

}  // namespace softib::transport
