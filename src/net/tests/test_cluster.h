// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fat tree with an HCA at every end, connected to some others, for tests.

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "net/hosts/transport_hosts.h"
#include "net/tests/test_fabrics.h"

namespace softib::net {

inline constexpr hca::Pd kPd{7};
inline constexpr std::uint32_t kRights =
    hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic;
inline constexpr std::array<std::uint32_t, 3> kShifts{
    1, 5, 8};  ///< Each host sends to the hosts this many places on.
inline constexpr std::uint32_t kOperations = 24;
inline constexpr std::uint32_t kSliceBytes = 5000;
inline constexpr std::uint32_t kAreaBytes = kOperations * kSliceBytes;

/// An HCA with an area of memory for each of its connections, either way.
struct Host {
    Host(Lid lid, Prng& prng)
        : bytes(2 * kShifts.size() * kAreaBytes),
          memory(4),
          hca(memory, port_of(lid), {.qps = 16, .cqs = 2, .srqs = 1, .events = 64}) {
        for (std::uint8_t& byte : bytes) {
            byte = static_cast<std::uint8_t>(prng.next());
        }
        key = memory.add_region({.pd = kPd,
                                 .addr = 0,
                                 .length = bytes.size(),
                                 .access = kRights,
                                 .bytes = bytes.data()});
        sends = *hca.create_cq(kShifts.size() * kOperations);
        receives = *hca.create_cq(kShifts.size() * kOperations);
        for (Qpn& qpn : qpns) {
            qpn = *hca.create_qp({.pd = kPd,
                                  .send_cq = sends,
                                  .recv_cq = receives,
                                  .max_send_wr = kOperations,
                                  .max_recv_wr = kOperations});
        }
    }
    static hca::Port port_of(Lid lid) {
        hca::Port port;
        port.lid = lid;
        return port;
    }
    /// Returns where the slice of an operation is. Connections 0 to 2 go out, 3 to 5 come in.
    std::uint64_t offset(std::size_t connection, std::uint32_t operation) const {
        return connection * kAreaBytes + std::uint64_t{operation} * kSliceBytes;
    }

    std::vector<std::uint8_t> bytes;
    hca::MemoryTable memory;
    std::uint32_t key = 0;
    hca::Hca hca;
    hca::CqId sends;
    hca::CqId receives;
    std::array<Qpn, 2 * kShifts.size()> qpns;
};

inline void connect(Host& host, std::size_t connection, const Host& peer, std::size_t at_peer,
                    Lid lid, std::uint8_t sl) {
    using namespace hca::qp_attr;
    hca::QpAttr attr;
    attr.state = hca::QpState::kInit;
    attr.port = 1;
    attr.access = kRights;
    const Qpn qpn = host.qpns[connection];
    ASSERT_TRUE(host.hca.modify_qp(qpn, attr, kState | kPkeyIndex | kPort | kAccessFlags));
    attr.state = hca::QpState::kRtr;
    attr.av.dlid = lid;
    attr.av.sl = sl;
    attr.path_mtu = 3;
    attr.dest_qpn = peer.qpns[at_peer].value;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
    attr.min_rnr_timer = 1;
    ASSERT_TRUE(host.hca.modify_qp(
        qpn, attr, kState | kAv | kPathMtu | kDestQpn | kRqPsn | kMaxDestRdAtomic | kMinRnrTimer));
    attr.state = hca::QpState::kRts;
    attr.timeout = 8;
    attr.retry_cnt = attr.rnr_retry = 7;
    ASSERT_TRUE(host.hca.modify_qp(
        qpn, attr, kState | kSqPsn | kTimeout | kRetryCnt | kRnrRetry | kMaxQpRdAtomic));
}

/// Hosts of a fat tree that write, send and read. Afterwards each slice of an outgoing connection
/// must be equal to its slice at the peer.
template <typename Ends = TransportHosts>
class Cluster {
  public:
    /// `strangers`: further hosts, which have HCAs but no connections.
    explicit Cluster(std::uint64_t seed, std::uint32_t count = 16, std::uint32_t strangers = 0)
        : members(count) {
        auto topology = topo::generate(tree(count + strangers, 8));
        EXPECT_TRUE(topology);
        auto routed = Routed::make(*topology, "ftree", 1);
        EXPECT_TRUE(routed);
        fabric = std::make_unique<Fabric<Ends>>(*std::move(routed), PlantConfig{}, 0);
        Prng prng(seed);
        for (std::uint32_t i = 0; i < fabric->host_count(); ++i) {
            hosts.emplace_back(fabric->lid(i), prng);
            fabric->ends().attach(fabric->port(i), hosts.back().hca);
        }
        for (std::uint32_t i = 0; i < members; ++i) {
            for (std::size_t k = 0; k < kShifts.size(); ++k) {
                const std::uint32_t to = peer_of(i, k);
                connect(hosts[i], k, hosts[to], k + kShifts.size(), fabric->lid(to),
                        fabric->sl(i, to));
                connect(hosts[to], k + kShifts.size(), hosts[i], k, fabric->lid(i),
                        fabric->sl(to, i));
            }
        }
    }
    std::uint32_t peer_of(std::uint32_t host, std::size_t k) const {
        return (host + kShifts[k]) % members;
    }
    void post_all() {
        for (std::uint32_t i = 0; i < members; ++i) {
            for (std::size_t k = 0; k < kShifts.size(); ++k) {
                for (std::uint32_t n = 0; n < kOperations; ++n) {
                    post(i, k, n);
                }
            }
        }
        for (std::uint32_t i = 0; i < members; ++i) {
            fabric->ends().pump(fabric->engine(), fabric->port(i));
        }
    }
    void expect_all_done() {
        for (std::uint32_t i = 0; i < members; ++i) {
            std::uint32_t sent = 0;
            std::uint32_t received = 0;
            while (const auto done = hosts[i].hca.poll_completion(hosts[i].sends)) {
                EXPECT_EQ(done->status, hca::WcStatus::kSuccess) << "host " << i;
                ++sent;
            }
            while (const auto done = hosts[i].hca.poll_completion(hosts[i].receives)) {
                EXPECT_EQ(done->status, hca::WcStatus::kSuccess) << "host " << i;
                ++received;
            }
            EXPECT_EQ(sent, kShifts.size() * kOperations) << "host " << i;
            EXPECT_EQ(received, kShifts.size() * kOperations / 3) << "host " << i;
            for (std::size_t k = 0; k < kShifts.size(); ++k) {
                const Host& peer = hosts[peer_of(i, k)];
                EXPECT_TRUE(std::equal(
                    hosts[i].bytes.begin() + static_cast<std::ptrdiff_t>(hosts[i].offset(k, 0)),
                    hosts[i].bytes.begin() + static_cast<std::ptrdiff_t>(hosts[i].offset(k + 1, 0)),
                    peer.bytes.begin() +
                        static_cast<std::ptrdiff_t>(peer.offset(k + kShifts.size(), 0))))
                    << "from host " << i << ", connection " << k;
            }
        }
        EXPECT_EQ(lines(Inspector(fabric->engine()).check_credits()), "");
        EXPECT_EQ(lines(Inspector(fabric->engine()).check_counters()), "");
        EXPECT_EQ(fabric->engine().queues().packets().live(), 0U);
        EXPECT_EQ(fabric->ends().bodies(), 0U);
    }
    std::uint64_t count(hca::Counted what) const {
        std::uint64_t sum = 0;
        for (const Host& host : hosts) {
            sum += host.hca.counter(what);
        }
        return sum;
    }
    /// Sets the errors of every port, hosts' and switches'.
    void set_errors(std::uint32_t lost_ppm, std::uint32_t broken_ppm, std::uint64_t seed) {
        for (std::uint32_t port = 0; port < fabric->engine().plant().port_count(); ++port) {
            if (fabric->engine().plant().peer(port) != kNone) {
                fabric->engine().ports().set_errors(
                    port, {.lost_ppm = lost_ppm, .broken_ppm = broken_ppm, .seed = seed + port});
            }
        }
    }

    std::uint32_t members;
    std::deque<Host> hosts;
    std::unique_ptr<Fabric<Ends>> fabric;

  private:
    void post(std::uint32_t from, std::size_t k, std::uint32_t n) {
        Host& host = hosts[from];
        Host& peer = hosts[peer_of(from, k)];
        const std::uint64_t there = peer.offset(k + kShifts.size(), n);
        const hca::Sge sge{host.offset(k, n), kSliceBytes, host.key};
        if (n % 3 == 1) {
            const hca::Sge to{there, kSliceBytes, peer.key};
            ASSERT_EQ(peer.hca.post_receive(peer.qpns[k + kShifts.size()], n, std::span(&to, 1)),
                      hca::PostError::kOk);
        }
        constexpr std::array kOpcodes{hca::WrOpcode::kWrite, hca::WrOpcode::kSend,
                                      hca::WrOpcode::kRead};
        hca::WorkRequest wr;
        wr.wr_id = n;
        wr.opcode = kOpcodes[n % 3];
        wr.flags = hca::kSendSignaled;
        wr.sges = std::span(&sge, 1);
        wr.remote_addr = there;
        wr.rkey = peer.key;
        ASSERT_EQ(host.hca.post_send(host.qpns[k], wr), hca::PostError::kOk);
    }
};

}  // namespace softib::net
