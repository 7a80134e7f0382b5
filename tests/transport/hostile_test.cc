// SPDX-License-Identifier: BSD-2-Clause
// Sends a million packets that no peer would send, into queue pairs of every kind and state: forged
// addresses, PSNs, keys and lengths, and random headers. None crashes the HCA; none that must be
// refused is accepted, and each of those is counted; no byte changes that the sender may not write.
#include <array>
#include <cstring>
#include <numeric>

#include "core/base/test_effort.h"
#include "probe.h"

namespace softib::transport {
namespace {

constexpr std::uint64_t kPackets = effort(1'000'000, 50'000);
constexpr std::uint64_t kPerSetting = 100;

// The zones of the victim's memory: what a peer may touch, what it receives into, what its READs
// fill, and the rest.
constexpr std::uint32_t kRemoteEnd = 2048;
constexpr std::uint32_t kReceiveEnd = 6144;
constexpr std::uint32_t kLandingEnd = 8192;
constexpr std::uint32_t kMemoryBytes = 16384;

enum class Situation : std::uint8_t {
    kReset,
    kInit,
    kRtr,
    kRts,
    kWaiting,
    kReceiving,
    kSqd,
    kError,
    kCount
};

class Victim : public Probe {
  public:
    Victim(QpType type, Situation situation, std::uint64_t seed)
        : Probe({.type = type,
                 .timeout = 0,
                 .psn = 1000,
                 .memory_bytes = kMemoryBytes,
                 .seed = seed}),
          prng_(seed),
          type_(type) {
        filter = nullptr;
        End& b = ends[1];
        b.memory.remove(b.key);
        const auto region = [&](std::uint32_t from, std::uint32_t to, std::uint32_t access) {
            return b.memory.add_region({.pd = kPd,
                                        .addr = b.addr(from),
                                        .length = to - from,
                                        .access = access,
                                        .bytes = b.at(from)});
        };
        remote_key_ =
            region(0, kRemoteEnd, kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic);
        b.key = region(kRemoteEnd, kLandingEnd, kLocalWrite);
        region(kLandingEnd, kMemoryBytes, kLocalWrite);
        bring(situation);
    }

    /// Sends one packet. Returns what went wrong, or an empty text.
    std::string attack();
    bool dead() const { return ends[1].hca.query_qp(ends[1].recv_qpn)->state == QpState::kErr; }

  private:
    struct Packet {
        wire::PacketHeaders headers;
        std::uint32_t length = 0;
        bool refused = false;    ///< The packet must have no effect, and must be counted.
        bool powerless = false;  ///< The packet must change no memory.
    };

    void bring(Situation situation);
    void modify(QpState state, std::uint32_t mask = 0);
    Packet good_packet();
    void forge(Packet& packet);
    void forge_address(Packet& packet);
    void forge_rdma(Packet& packet);
    void forge_rest(Packet& packet);
    bool is_rdma(const Packet& packet) const {
        const auto info = wire::opcode_info(packet.headers.bth.opcode);
        return info && (info->headers & (wire::extended::kReth | wire::extended::kAtomicEth)) != 0;
    }
    std::uint64_t counted() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < kCountedKinds; ++i) {
            sum += count(1, static_cast<Counted>(i));
        }
        return sum;
    }
    std::uint32_t number(std::uint64_t bound) {
        return static_cast<std::uint32_t>(prng_.below(bound));
    }

    Prng prng_;
    QpType type_;
    std::uint32_t remote_key_ = 0;
    Transmit out_;
};

void Victim::modify(QpState state, std::uint32_t mask) {
    QpAttr attr;
    attr.state = state;
    for (const Qpn qpn : {ends[1].qpn, ends[1].recv_qpn}) {
        ends[1].hca.modify_qp(qpn, attr, qp_attr::kState | mask);
    }
}

void Victim::bring(Situation situation) {
    End& b = ends[1];
    if (situation <= Situation::kRtr) {
        modify(QpState::kReset);
        if (situation >= Situation::kInit) {
            to_init(1);
        }
        if (situation == Situation::kRtr) {
            to_rtr(1);
        }
    }
    for (std::uint64_t i = 0; i < 4; ++i) {
        b.receive(i, kRemoteEnd, kReceiveEnd - kRemoteEnd);
    }
    if (situation == Situation::kWaiting || situation == Situation::kSqd) {
        for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead, WrOpcode::kFetchAdd,
                                      WrOpcode::kSend, WrOpcode::kRead}) {
            WorkRequest wr =
                request(1, opcode, kReceiveEnd, opcode == WrOpcode::kFetchAdd ? 8 : 900);
            post(1, wr);
        }
        while (b.hca.poll_transmit(out_, now_ns)) {
        }
    }
    if (situation == Situation::kReceiving && type_ != QpType::kUd) {
        auto first =
            headers(1, prng_.chance(1, 2) ? Operation::kSendFirst : Operation::kWriteFirst, 1000);
        first.reth = {.va = b.addr(0), .r_key = remote_key_, .dma_len = 1024};
        inject(1, first, std::vector<std::uint8_t>(256));
    }
    if (situation == Situation::kSqd) {
        modify(QpState::kSqd);
    }
    if (situation == Situation::kError) {
        modify(QpState::kErr);
    }
    completions(1);
    completions(1, true);
    while (b.hca.poll_event()) {
    }
}

Victim::Packet Victim::good_packet() {
    constexpr std::uint8_t kOperations = 0x18;
    Packet packet;
    for (;;) {
        const auto op = static_cast<Operation>(number(kOperations));
        packet.headers = headers(1, op, 1000);
        const auto info = wire::opcode_info(packet.headers.bth.opcode);
        if (!info) {
            continue;
        }
        packet.headers.bth.psn = Psn{add24(1000, number(12))};
        if (op >= Operation::kReadResponseFirst && op <= Operation::kAtomicAcknowledge) {
            packet.headers.bth.dest_qp = ends[1].qpn;
        }
        constexpr std::uint32_t kLengths[] = {0, 8, 132, 256, 256, 256};
        packet.length = info->has_payload ? kLengths[prng_.below(std::size(kLengths))] : 0;
        const std::uint32_t dma = prng_.chance(1, 2) ? packet.length : number(1024);
        packet.headers.reth = {
            .va = ends[1].addr(number(512)), .r_key = remote_key_, .dma_len = dma};
        packet.headers.atomic_eth = {.va = ends[1].addr(8 * number(64)),
                                     .r_key = remote_key_,
                                     .swap_dt = prng_.next(),
                                     .cmp_dt = prng_.next()};
        packet.headers.ieth.r_key = remote_key_;
        packet.headers.aeth.msn = number(8);
        return packet;
    }
}

/// Forges the fields that say where a packet goes and where it comes from.
void Victim::forge_address(Packet& packet) {
    wire::PacketHeaders& h = packet.headers;
    const bool connected = type_ != QpType::kUd;
    packet.refused = true;
    switch (prng_.below(7)) {
        case 0:
            h.lrh.slid = Lid{static_cast<std::uint16_t>(2 + number(0xBFF0))};
            packet.refused = connected;
            break;
        case 1:
            h.lrh.dlid = Lid{static_cast<std::uint16_t>(3 + number(0xBFF0))};
            break;
        case 2:
            h.bth.dest_qp = Qpn{h.bth.dest_qp.value ^ 1U << (4 + number(20))};
            break;
        case 3:
            h.bth.p_key = PKey{static_cast<std::uint16_t>(number(0x7FFF))};
            break;
        case 4:
            h.deth.q_key = QKey{kQKey.value ^ 1U << number(32)};
            packet.refused = !connected;
            break;
        case 5:
            h.grh.emplace();
            h.grh->dgid.bytes[5] = static_cast<std::uint8_t>(1 + number(255));
            break;
        default:
            h.lrh.dlid = Lid{static_cast<std::uint16_t>(0xC000 + number(0x3FFF))};
            break;
    }
}

/// Forges the fields that say which memory a packet is about.
void Victim::forge_rdma(Packet& packet) {
    wire::PacketHeaders& h = packet.headers;
    switch (prng_.below(4)) {
        case 0:
            h.reth.r_key ^= 1U << number(32);
            h.atomic_eth.r_key = h.reth.r_key;
            break;
        case 1:
            h.reth.va = ends[1].addr(kRemoteEnd) - number(8);
            h.reth.dma_len = 8 + number(100);
            h.atomic_eth.va = ends[1].addr(kRemoteEnd);
            break;
        case 2:
            h.reth.va = h.atomic_eth.va = prng_.next();
            h.reth.dma_len = std::max(h.reth.dma_len, 1U);
            break;
        default:
            h.reth.dma_len = kRemoteEnd + 1 + number(0xFFFF0000);
            h.atomic_eth.va += 1 + number(7);
            break;
    }
    // A later packet of a WRITE does not say where it goes; only a packet with a RETH is known to
    // change nothing.
    packet.powerless = is_rdma(packet) && h.reth.dma_len != 0;
}

void Victim::forge_rest(Packet& packet) {
    wire::PacketHeaders& h = packet.headers;
    switch (prng_.below(8)) {
        case 0:
            h.bth.psn = Psn{number(kPsnMask + 1)};
            break;
        case 1:
            h.bth.opcode = static_cast<std::uint8_t>(prng_.next());
            break;
        case 2:
            packet.length = number(5000);
            break;
        case 3:
            h.aeth = {.syndrome = static_cast<std::uint8_t>(prng_.next()), .msn = number(1U << 24)};
            break;
        case 4:
            h.xrc_eth.xrcsrq = number(8);
            break;
        case 5: {
            const auto service = static_cast<std::uint8_t>(number(8));
            packet.refused = service != static_cast<std::uint8_t>(transport_of(type_));
            h.bth.opcode = static_cast<std::uint8_t>(service << 5 | (h.bth.opcode & 0x1F));
            break;
        }
        case 6:
            h.reth.dma_len = static_cast<std::uint32_t>(prng_.next());
            break;
        default:
            h.bth.psn = Psn{add24(1000, 0xFFFFF0 + number(32))};
            h.ieth.r_key = static_cast<std::uint32_t>(prng_.next());
            break;
    }
}

void Victim::forge(Packet& packet) {
    switch (prng_.below(4)) {
        case 0:
            forge_address(packet);
            return;
        case 1:
            forge_rdma(packet);
            return;
        case 2:
            forge_rest(packet);
            return;
        default: {
            // Several fields are forged at once. The packet must be refused if one of them demands
            // it.
            Packet other = packet;
            forge_rest(packet);
            forge_rest(packet);
            forge_rdma(packet);
            packet.refused = packet.powerless = false;
            if (prng_.chance(1, 2)) {
                packet = other;
                forge_rest(packet);
                const bool before = packet.refused;
                forge_address(packet);
                packet.refused = packet.refused || before;
            }
            return;
        }
    }
}

std::string Victim::attack() {
    Packet packet = good_packet();
    forge(packet);
    const auto before_bytes = ends[1].bytes;
    const std::uint64_t before = counted();
    const std::vector<std::uint8_t> payload(packet.length, 0xEE);
    inject(1, packet.headers, payload);
    const std::uint64_t times = counted() - before;
    const bool changed = ends[1].bytes != before_bytes;
    const auto what = [&](const char* text) {
        return std::string(text) + ": " + wire::to_string(packet.headers) + ", " +
               std::to_string(packet.length) + " bytes";
    };
    if (std::memcmp(ends[1].at(kLandingEnd), before_bytes.data() + kLandingEnd,
                    kMemoryBytes - kLandingEnd) != 0) {
        return what("memory changed that nobody may touch");
    }
    if (packet.refused) {
        if (times != 1) {
            return what("refused, and not counted once");
        }
        if (changed || !completions(1).empty() || !completions(1, true).empty() ||
            ends[1].hca.poll_event()) {
            return what("must be refused, and had an effect");
        }
    }
    if (packet.powerless && changed) {
        return what("changed memory that it has no right to");
    }
    if (prng_.chance(1, 4)) {
        ends[1].hca.poll_transmit(out_, now_ns);
    }
    completions(1);
    completions(1, true);
    while (ends[1].hca.poll_event()) {
    }
    return {};
}

/// After all these packets a new connection works as before.
bool still_works(Victim& victim) {
    if (victim.options.type == QpType::kUd) {
        return true;
    }
    victim.connect();
    End& b = victim.ends[1];
    b.receive(1, kRemoteEnd, 600);
    victim.completions(1, true);
    if (victim.post(0, victim.request(0, WrOpcode::kSend, 0, 600)) != PostError::kOk) {
        return false;
    }
    victim.drive();
    const auto done = victim.completions(1, true);
    return done.size() == 1 && done[0].status == WcStatus::kSuccess && done[0].byte_len == 600;
}

TEST(Hostile, NoForgedPacketIsAcceptedInAnyState) {
    constexpr std::array kTypes{QpType::kRc, QpType::kRc, QpType::kXrcSend, QpType::kUc,
                                QpType::kUd};
    std::uint64_t sent = 0;
    for (std::uint64_t seed = 1; sent < kPackets; ++seed) {
        const QpType type = kTypes[seed % kTypes.size()];
        const auto situation = static_cast<Situation>(
            seed / kTypes.size() % static_cast<std::uint64_t>(Situation::kCount));
        Victim victim(type, situation, seed);
        for (std::uint64_t i = 0; i < kPerSetting; ++i) {
            ASSERT_EQ(victim.attack(), "") << "seed " << seed << ", packet " << i;
            ++sent;
            if (situation != Situation::kError && victim.dead()) {
                break;
            }
        }
        ASSERT_TRUE(still_works(victim)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace softib::transport
