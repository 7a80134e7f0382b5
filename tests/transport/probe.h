// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A pair whose packets are recorded, and functions to make packets of one's own.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pair.h"

namespace softib::transport {

using wire::Operation;
using Bytes = std::vector<std::uint8_t>;

struct Probe : Pair {
    explicit Probe(const PairOptions& o = {}) : Pair(o) {
        for (End& end : ends) {
            std::uint8_t value = static_cast<std::uint8_t>(end.lid.value * 101);
            std::ranges::generate(end.bytes,
                                  [&] { return value = static_cast<std::uint8_t>(value * 5 + 3); });
        }
        filter = [this](Flight& flight) {
            sent.push_back(flight);
            return !lose || !lose(flight);
        };
    }

    static Operation operation(const Flight& flight) {
        return wire::opcode_info(flight.headers.bth.opcode)->operation;
    }
    /// Returns the packets that arrived or would have arrived at an end.
    std::vector<Flight> sent_to(int end) const {
        std::vector<Flight> found;
        std::ranges::copy_if(sent, std::back_inserter(found),
                             [&](const Flight& f) { return f.to == end; });
        return found;
    }
    std::vector<Operation> operations_to(int end) const {
        std::vector<Operation> found;
        for (const Flight& flight : sent_to(end)) {
            found.push_back(operation(flight));
        }
        return found;
    }
    std::vector<std::uint32_t> psns_to(int end) const {
        std::vector<std::uint32_t> found;
        for (const Flight& flight : sent_to(end)) {
            found.push_back(flight.headers.bth.psn.value);
        }
        return found;
    }
    /// Returns headers as the peer of `to` would make them.
    wire::PacketHeaders headers(int to, Operation op, std::uint32_t psn) {
        wire::PacketHeaders h;
        const End& from = ends[1 - to];
        h.lrh.slid = from.lid;
        h.lrh.dlid = ends[to].lid;
        h.bth.opcode = wire::opcode(transport_of(options.type), op);
        h.bth.p_key = kPKeyDefaultFull;
        h.bth.dest_qp = ends[to].recv_qpn;
        h.bth.psn = Psn{psn};
        h.bth.a = true;
        h.xrc_eth.xrcsrq = ends[to].srq.value_or(SrqId{}).value;
        h.reth = {.va = ends[to].addr(0), .r_key = ends[to].key, .dma_len = 0};
        h.deth = {.q_key = kQKey, .src_qp = from.qpn};
        return h;
    }
    /// Returns the syndrome of the newest acknowledgement that went to an end.
    Syndrome last_syndrome(int to) const {
        const auto all = sent_to(to);
        EXPECT_FALSE(all.empty());
        return all.empty() ? Syndrome{.kind = AckKind::kReserved}
                           : Syndrome::parse(all.back().headers.aeth.syndrome);
    }
    Completion only_completion(int end, bool receives = false) {
        const auto all = completions(end, receives);
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? Completion{} : all[0];
    }
    std::vector<Event> events(int end) {
        std::vector<Event> all;
        while (const auto event = ends[end].hca.poll_event()) {
            all.push_back(*event);
        }
        return all;
    }
    bool has_event(int end, AsyncKind kind) {
        return std::ranges::any_of(events(end), [&](const Event& e) {
            return e.kind == Event::Kind::kAsync && e.async == kind;
        });
    }
    bool same(int a, std::uint64_t at_a, int b, std::uint64_t at_b, std::uint32_t length) {
        return std::equal(ends[a].at(at_a), ends[a].at(at_a) + length, ends[b].at(at_b));
    }

    std::vector<Flight> sent;
    std::function<bool(const Flight&)> lose;
};

/// Returns a filter that loses the first packet to `to` for which the predicate holds.
template <typename Predicate>
auto lose_first(int to, Predicate predicate) {
    return [=, done = false](const Flight& flight) mutable {
        const bool lost = !done && flight.to == to && predicate(flight);
        done = done || lost;
        return lost;
    };
}
inline auto lose_psn(int to, std::uint32_t psn) {
    return lose_first(to, [psn](const Flight& f) { return f.headers.bth.psn.value == psn; });
}

}  // namespace softib::transport
