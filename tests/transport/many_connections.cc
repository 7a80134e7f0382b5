// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "workload.h"

namespace softib::transport {

namespace {

constexpr std::uint32_t kConnections = 14;
constexpr std::uint32_t kRequests = 16;
constexpr std::uint32_t kBytesEach = 2048;

Qpn connected_qp(Pair& pair, int end, Qpn peer, Prng& prng) {
    End& e = pair.ends[end];
    const Qpn qpn = peer;  // Both HCAs give out the same numbers.
    QpAttr attr;
    attr.port = 1;
    attr.access = kRemoteWrite;
    attr.av.dlid = pair.ends[1 - end].lid;
    attr.path_mtu = 1;
    attr.dest_qpn = peer.value;
    attr.timeout = static_cast<std::uint8_t>(4 + prng.below(5));
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    QpState state = QpState::kReset;
    for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
        attr.state = to;
        const std::uint32_t required = transition_rule(QpType::kRc, state, to)->required;
        e.hca.modify_qp(qpn, attr, qp_attr::kState | required);
        state = to;
    }
    return qpn;
}

}  // namespace

std::string run_many_connections(std::uint64_t seed) {
    Prng prng(seed);
    PairOptions o{.memory_bytes = kConnections * kBytesEach, .seed = seed};
    o.knobs.drop = static_cast<std::uint32_t>(prng.below(500));
    o.knobs.reorder = static_cast<std::uint32_t>(prng.below(300));
    Pair pair(o);
    for (std::uint8_t& byte : pair.ends[0].bytes) {
        byte = static_cast<std::uint8_t>(prng.next());
    }
    std::vector<Qpn> qpns;
    for (std::uint32_t i = 0; i < kConnections; ++i) {
        QpInit init{.pd = kPd, .max_send_wr = kRequests, .window_packets = 8};
        init.send_cq = init.recv_cq = pair.ends[0].send_cq;
        const Qpn a = *pair.ends[0].hca.create_qp(init);
        const Qpn b = *pair.ends[1].hca.create_qp(init);
        if (a != b) {
            return "two tables differ";
        }
        qpns.push_back(connected_qp(pair, 0, b, prng));
        if (i % 5 != 4) {  // The others have no peer.
            connected_qp(pair, 1, a, prng);
        }
    }
    std::vector<std::uint32_t> good(kConnections);
    std::vector<std::uint32_t> bad(kConnections);
    for (std::uint32_t r = 0; r < kRequests; ++r) {
        for (std::uint32_t i = 0; i < kConnections; ++i) {
            WorkRequest wr =
                pair.request(0, WrOpcode::kWrite, i * kBytesEach + r * 64, (kRequests - r) * 64);
            wr.wr_id = r;
            pair.ends[0].hca.post_send(qpns[i], wr);
        }
    }
    pair.post(0, pair.request(0, WrOpcode::kWrite, 0, 0));
    const auto poll = [&]() -> std::string {
        for (const Completion& done : pair.completions(0)) {
            const auto at = std::ranges::find(qpns, done.qpn);
            if (at == qpns.end()) {
                continue;
            }
            const auto i = static_cast<std::size_t>(at - qpns.begin());
            if (done.wr_id != good[i] + bad[i]) {
                return fmt::format("connection {}: request {} out of order", i, done.wr_id);
            }
            ++(done.status == WcStatus::kSuccess ? good : bad)[i];
        }
        return {};
    };
    while (pair.step()) {
        if (const std::string error = poll(); !error.empty()) {
            return error;
        }
    }
    for (std::uint32_t i = 0; i < kConnections; ++i) {
        if (i % 5 == 4 ? bad[i] != kRequests : good[i] != kRequests) {
            return fmt::format("connection {}: {} succeeded, {} failed", i, good[i], bad[i]);
        }
        const std::uint8_t* from = pair.ends[0].at(i * kBytesEach);
        if (i % 5 != 4 &&
            !std::equal(from, from + kRequests * 64, pair.ends[1].at(i * kBytesEach))) {
            return fmt::format("connection {}: other bytes", i);
        }
    }
    return {};
}

}  // namespace softib::transport
