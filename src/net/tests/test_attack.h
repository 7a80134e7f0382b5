// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// HCAs that send hostile packets into a fabric at work, for tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/wire/format/bytes.h"
#include "core/wire/packet/crc.h"
#include "core/wire/packet/packet.h"
#include "net/tests/test_cluster.h"

namespace softib::net {

using wire::Operation;
using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint32_t kMembers = 16;
inline constexpr std::uint32_t kStrangers = 4;
/// First PSN of the queue pairs that strangers may talk to.
inline constexpr std::uint32_t kStartPsn = 1000;
inline constexpr std::uint32_t kQKey = 0x11112222;

/// Returns how many packets an HCA has refused: each that has no effect counts in one of these.
inline std::uint64_t refusals(const hca::Hca& hca) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(hca::Counted::kBadLength); ++i) {
        sum += hca.counter(static_cast<hca::Counted>(i));
    }
    return sum;
}

/// Hosts that know which packets must have no effect, and check that they have none.
class WatchedHosts {
  public:
    void attach(std::uint32_t port, hca::Hca& hca) {
        hcas_.resize(std::max<std::size_t>(hcas_.size(), port + std::size_t{1}));
        hcas_[port] = &hca;
        hosts_.attach(port, hca);
    }
    void shoot(Engine& net, std::uint32_t port, const Bytes& bytes, bool refused) {
        const std::uint32_t body = hosts_.send_bytes(net, port, bytes);
        refused_.resize(std::max<std::size_t>(refused_.size(), body + std::size_t{1}));
        refused_[body] = refused ? 1 : 0;
        ++shot;
    }
    void pump(Engine& net, std::uint32_t port) { hosts_.pump(net, port); }
    std::size_t bodies() const { return hosts_.bodies(); }
    std::uint64_t unknown() const { return hosts_.unknown(); }

    static constexpr unsigned kHears = TransportHosts::kHears;
    void deliver(Engine& net, std::uint32_t port, const Packet& packet) {
        const bool raw = hosts_.is_raw(packet);
        const bool refused = raw && refused_[packet.body] != 0;
        const std::uint64_t unknown_before = unknown();
        const hca::Hca* hca = port < hcas_.size() ? hcas_[port] : nullptr;
        const std::uint64_t before = hca != nullptr ? refusals(*hca) : 0;
        hosts_.deliver(net, port, packet);
        if (refused && unknown() == unknown_before) {
            accepted += refusals(*hca) != before + 1 ? 1U : 0U;
        }
        delivered += raw ? 1U : 0U;
    }
    void sent(Engine& net, std::uint32_t port, const Packet& packet) {
        hosts_.sent(net, port, packet);
    }
    void timer(Engine& net, std::uint32_t port, std::uint32_t what) {
        hosts_.timer(net, port, what);
    }
    void copied(Engine& net, const Packet& packet, std::uint32_t more) {
        hosts_.copied(net, packet, more);
    }
    void dropped(Engine& net, const Packet& packet, TimePs at) {
        gone += hosts_.is_raw(packet) ? 1U : 0U;
        hosts_.dropped(net, packet, at);
    }

    std::uint64_t shot = 0;
    std::uint64_t delivered = 0;
    std::uint64_t gone = 0;
    std::uint64_t accepted = 0;

  private:
    TransportHosts hosts_;
    std::vector<hca::Hca*> hcas_;
    std::vector<std::uint8_t> refused_;  ///< By body: the HCA must refuse it.
};
static_assert(Ends<WatchedHosts>);

class Attack {
  public:
    explicit Attack(std::uint64_t seed) : cluster(seed, kMembers, kStrangers), prng_(seed) {
        for (std::uint32_t i = 0; i < kMembers; ++i) {
            for (auto& queue_pairs : {&asleep_, &open_}) {
                queue_pairs->push_back(*host(i).hca.create_qp({.pd = kPd,
                                                               .send_cq = host(i).sends,
                                                               .recv_cq = host(i).receives,
                                                               .max_send_wr = 1,
                                                               .max_recv_wr = 1}));
            }
            put_to_sleep(i);
            open(i);
            datagram_.push_back(make_datagram(i));
        }
    }
    void shoot_one() {
        std::uint32_t from = kMembers + number(kStrangers);
        const std::uint32_t victim = number(kMembers);
        wire::PacketHeaders headers = true_packet(victim);
        Bytes bytes;
        bool refused = true;
        switch (prng_.below(8)) {
            case 0:
            case 1:
                bytes = emitted(headers);  // A true packet, which is then broken.
                mutate(bytes);
                break;
            case 2:
                lie(headers, victim, from);
                bytes = emitted(headers);
                mutate(bytes);
                set_vcrc(bytes);
                break;
            case 3:
                if (prng_.chance(1, 4)) {
                    bytes = emitted(trespass(victim, from));
                    refused = false;
                    break;
                }
                [[fallthrough]];
            case 4:
                if (prng_.chance(1, 8)) {
                    // A true packet but for a PSN far ahead: the victim asks for what is missing.
                    headers.bth.psn = Psn{0x400000 + number(0x100000)};
                    bytes = emitted(headers);
                    refused = false;
                    break;
                }
                [[fallthrough]];
            default:
                lie(headers, victim, from);
                bytes = emitted(headers);
                break;
        }
        cluster.fabric->ends().shoot(cluster.fabric->engine(), cluster.fabric->port(from), bytes,
                                     refused);
    }
    /// Sends more management packets at once than a port has room for.
    void flood() {
        const std::uint32_t victim = number(kMembers);
        for (std::uint32_t i = 0; i < 40 * kStrangers; ++i) {
            const std::uint32_t from = kMembers + i % kStrangers;
            wire::PacketHeaders headers = true_packet(victim);
            headers.bth.opcode = opcode(wire::Transport::kUd, Operation::kSendOnly);
            headers.lrh.vl = wire::kVlManagement;
            Bytes bytes(wire::kPacketBytesMax);
            bytes.resize(*emit_packet(headers, Bytes(4000), bytes));
            cluster.fabric->ends().shoot(cluster.fabric->engine(), cluster.fabric->port(from),
                                         bytes, true);
        }
    }
    /// Connects the queue pairs that strangers may talk to again: they are in error by now.
    void open_all() {
        for (std::uint32_t i = 0; i < kMembers; ++i) {
            open(i);
        }
    }
    std::uint32_t number(std::uint64_t bound) {
        return static_cast<std::uint32_t>(prng_.below(bound));
    }

    Cluster<WatchedHosts> cluster;

  private:
    Host& host(std::uint32_t i) { return cluster.hosts[i]; }
    Lid lid(std::uint32_t i) { return cluster.fabric->lid(i); }

    /// Makes a queue pair that is in Reset, Init or Error, and so accepts no packet.
    void put_to_sleep(std::uint32_t i) {
        using namespace hca::qp_attr;
        hca::QpAttr attr;
        attr.port = 1;
        attr.state = hca::QpState::kInit;
        if (i % 3 != 0) {
            host(i).hca.modify_qp(asleep_[i], attr, kState | kPkeyIndex | kPort | kAccessFlags);
        }
        attr.state = hca::QpState::kErr;
        if (i % 3 == 1) {
            host(i).hca.modify_qp(asleep_[i], attr, kState);
        }
    }
    Qpn make_datagram(std::uint32_t i) {
        using namespace hca::qp_attr;
        const Qpn qpn = *host(i).hca.create_qp({.type = hca::QpType::kUd,
                                                .pd = kPd,
                                                .send_cq = host(i).sends,
                                                .recv_cq = host(i).receives,
                                                .max_send_wr = 1,
                                                .max_recv_wr = 1});
        hca::QpAttr attr;
        attr.state = hca::QpState::kInit;
        attr.port = 1;
        attr.qkey = kQKey;
        host(i).hca.modify_qp(qpn, attr, kState | kPkeyIndex | kPort | kQkey);
        attr.state = hca::QpState::kRtr;
        EXPECT_TRUE(host(i).hca.modify_qp(qpn, attr, kState));
        const hca::Sge all{0, kAreaBytes, host(i).key};
        host(i).hca.post_receive(qpn, 1, std::span(&all, 1));
        return qpn;
    }
    /// Connects a queue pair to a stranger, which may send packets but has no key.
    void open(std::uint32_t i) {
        using namespace hca::qp_attr;
        hca::QpAttr attr;
        attr.state = hca::QpState::kReset;
        host(i).hca.modify_qp(open_[i], attr, kState);
        attr.state = hca::QpState::kInit;
        attr.port = 1;
        attr.access = kRights;
        host(i).hca.modify_qp(open_[i], attr, kState | kPkeyIndex | kPort | kAccessFlags);
        attr.state = hca::QpState::kRtr;
        attr.av.dlid = lid(kMembers + i % kStrangers);
        attr.path_mtu = 3;
        attr.rq_psn = kStartPsn;
        attr.dest_qpn = 0x77;
        attr.max_dest_rd_atomic = 4;
        ASSERT_TRUE(host(i).hca.modify_qp(
            open_[i], attr,
            kState | kAv | kPathMtu | kDestQpn | kRqPsn | kMaxDestRdAtomic | kMinRnrTimer));
    }
    /// Returns a request that the peer of one of the victim's connections could send.
    wire::PacketHeaders true_packet(std::uint32_t victim) {
        constexpr std::array kRequests{Operation::kSendFirst,   Operation::kSendOnly,
                                       Operation::kSendOnlyImm, Operation::kWriteFirst,
                                       Operation::kWriteOnly,   Operation::kReadRequest,
                                       Operation::kFetchAdd,    Operation::kCompareSwap};
        const Qpn qpn = host(victim).qpns[number(2 * kShifts.size())];
        const auto attr = *host(victim).hca.query_qp(qpn);
        wire::PacketHeaders headers;
        headers.lrh.slid = attr.av.dlid;
        headers.lrh.dlid = lid(victim);
        headers.bth.opcode = opcode(wire::Transport::kRc, kRequests[prng_.below(kRequests.size())]);
        headers.bth.p_key = kPKeyDefaultFull;
        headers.bth.dest_qp = qpn;
        headers.bth.psn = Psn{number(400)};
        headers.bth.a = prng_.chance(1, 2);
        const std::uint32_t at = number(2 * kShifts.size() * kAreaBytes);
        headers.reth = {.va = at, .r_key = host(victim).key, .dma_len = number(2000)};
        headers.atomic_eth = {.va = at & ~7U, .r_key = host(victim).key, .swap_dt = 1};
        return headers;
    }
    /// Makes a packet wrong in at least one way that its receiver must see, and perhaps in others.
    void lie(wire::PacketHeaders& headers, std::uint32_t victim, std::uint32_t from) {
        for (std::uint64_t more = prng_.below(4); more > 0; --more) {
            embroider(headers);
        }
        switch (prng_.below(8)) {
            case 0:
                headers.lrh.slid = lid(from);
                headers.bth.dest_qp = host(victim).qpns[number(2 * kShifts.size())];
                break;
            case 1:
                headers.lrh.slid = Lid{static_cast<std::uint16_t>(0x4000 + number(0x4000))};
                headers.bth.dest_qp = host(victim).qpns[0];
                break;
            case 2:
                headers.bth.p_key = PKey{static_cast<std::uint16_t>(number(0x7FFF))};
                break;
            case 3:
                headers.bth.dest_qp = Qpn{0x800000 | number(0x7FFFFE)};
                break;
            case 4:
                headers.lrh.dlid = lid(victim);
                headers.bth.dest_qp = asleep_[victim];
                break;
            case 5:
                headers.grh.emplace().dgid.bytes[15] = 1;
                break;
            case 6:
                headers.lrh.dlid = lid(victim);
                headers.grh.reset();
                headers.bth.opcode = opcode(wire::Transport::kUd, Operation::kSendOnly);
                headers.bth.dest_qp = datagram_[victim];
                headers.deth.q_key = QKey{kQKey ^ 1U << number(32)};
                break;
            default: {
                constexpr std::array kOthers{wire::Transport::kUc, wire::Transport::kRd,
                                             wire::Transport::kUd, wire::Transport::kXrc};
                headers.bth.opcode =
                    opcode(kOthers[prng_.below(kOthers.size())], Operation::kSendOnly);
                break;
            }
        }
    }
    /// Changes a header field at random, to a value that may be right or wrong.
    void embroider(wire::PacketHeaders& headers) {
        switch (prng_.below(10)) {
            case 0:
                headers.lrh.dlid = lid(number(kMembers + kStrangers));
                break;
            case 1:
                headers.lrh.dlid = Lid{static_cast<std::uint16_t>(prng_.next())};
                break;
            case 2:
                headers.bth.psn = Psn{number(0x1000000)};
                break;
            case 3:
                headers.reth.r_key ^= 1U << number(32);
                break;
            case 4:
                headers.reth.va = prng_.next();
                break;
            case 5:
                headers.reth.dma_len = static_cast<std::uint32_t>(prng_.next());
                break;
            case 6:
                headers.lrh.sl = static_cast<std::uint8_t>(number(16));
                break;
            case 7:
                headers.lrh.vl = static_cast<std::uint8_t>(number(16));
                break;
            case 8:
                headers.grh.emplace().dgid.bytes[3] = static_cast<std::uint8_t>(number(256));
                break;
            default:
                headers.bth.opcode = opcode(wire::Transport::kRc, Operation::kAcknowledge);
                headers.aeth.syndrome = static_cast<std::uint8_t>(number(256));
                break;
        }
    }
    /// Returns a request of a stranger on its own connection, for memory that it has no right to.
    wire::PacketHeaders trespass(std::uint32_t victim, std::uint32_t& from) {
        from = kMembers + victim % kStrangers;
        wire::PacketHeaders headers = true_packet(victim);
        headers.lrh.slid = lid(from);
        headers.bth.dest_qp = open_[victim];
        headers.bth.psn = Psn{kStartPsn};
        headers.reth.dma_len = 8 + number(100);
        const std::uint64_t end = 2 * kShifts.size() * kAreaBytes;
        if (prng_.chance(1, 2)) {
            headers.reth.r_key ^= 1U << number(32);
            headers.atomic_eth.r_key = headers.reth.r_key;
        } else {
            headers.reth.va = end - number(8);
            headers.atomic_eth.va = end;
        }
        return headers;
    }
    Bytes emitted(const wire::PacketHeaders& headers) {
        const auto info = wire::opcode_info(headers.bth.opcode);
        const Bytes payload(
            info->has_payload ? (prng_.chance(1, 8) ? number(4096) : number(64)) : 0, 0xEE);
        Bytes bytes(wire::kPacketBytesMax);
        bytes.resize(*emit_packet(headers, payload, bytes));
        return bytes;
    }
    void mutate(Bytes& bytes) {
        const Bytes before = bytes;
        do {
            switch (prng_.below(4)) {
                case 0:
                    bytes[prng_.below(bytes.size())] ^= static_cast<std::uint8_t>(1U << number(8));
                    break;
                case 1:
                    bytes[prng_.below(std::min<std::size_t>(bytes.size(), 32))] =
                        static_cast<std::uint8_t>(prng_.next());
                    break;
                case 2:
                    bytes.resize(1 + prng_.below(bytes.size()));
                    break;
                default:
                    bytes.resize(bytes.size() + prng_.below(64), 0xA5);
                    break;
            }
        } while (bytes == before || prng_.chance(1, 2));
    }
    static void set_vcrc(Bytes& bytes) {
        if (bytes.size() > wire::kVcrcBytes) {
            const auto covered = std::span(bytes).first(bytes.size() - wire::kVcrcBytes);
            wire::store_be(&bytes[covered.size()], wire::vcrc(covered));
        }
    }

    Prng prng_;
    std::vector<Qpn> asleep_;  ///< By member.
    std::vector<Qpn> open_;
    std::vector<Qpn> datagram_;
};

}  // namespace softib::net
