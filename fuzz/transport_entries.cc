// SPDX-License-Identifier: BSD-2-Clause
// Gives packets with any headers to the transport, each made of sixteen bytes of the input. Most of
// them are addressed to a queue pair and have a PSN near the expected one, since packets with
// random ones would all be dropped.
#include "transport_entries.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/hca/hca.h"

namespace softib::fuzz {

namespace {

using namespace softib::hca;
using Input = std::span<const std::uint8_t>;

constexpr Pd kPd{1};
constexpr std::uint64_t kAddr = 0x10000;
constexpr std::uint32_t kOpenBytes = 2048;    // Memory for peers' access and for receives.
constexpr std::uint32_t kMemoryBytes = 4096;  // All memory; beyond kOpenBytes it must not change.
constexpr std::array kTypes{QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcSend,
                            QpType::kXrcRecv};
constexpr std::uint32_t kPsn = 0xFFFFFC;
constexpr std::uint8_t kCanary = 0xA5;

struct Rig {
    Rig();
    void start(Qpn qpn, QpType type);
    void post(Qpn qpn, QpType type);
    wire::PacketHeaders headers(Input bytes) const;
    bool outputs_hold(std::uint64_t now_ns);

    std::array<std::uint8_t, kMemoryBytes> bytes{};
    MemoryTable memory{4};
    std::uint32_t key =
        memory.add_region({.pd = kPd,
                           .addr = kAddr,
                           .length = kOpenBytes,
                           .access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic,
                           .bytes = bytes.data()});
    Hca hca{memory, Port{.lid = Lid{1}}, {.qps = 8, .cqs = 1, .srqs = 1, .events = 64}};
    CqId cq = *hca.create_cq(256);
    SrqId srq = *hca.create_srq({.max_wr = 4, .pd = kPd, .xrcd = 1, .cq = cq});
    std::array<Qpn, kTypes.size()> qpns{};
};

Rig::Rig() {
    bytes.fill(kCanary);
    const Sge place{kAddr + 1024, 1024, key};
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        qpns[i] = *hca.create_qp({.type = kTypes[i],
                                  .pd = kPd,
                                  .send_cq = cq,
                                  .recv_cq = cq,
                                  .max_send_wr = 4,
                                  .max_recv_wr = 4,
                                  .xrcd = 1});
        start(qpns[i], kTypes[i]);
        post(qpns[i], kTypes[i]);
        hca.post_receive(qpns[i], i, std::span(&place, 1));
        hca.post_receive(srq, i, std::span(&place, 1));
    }
}

void Rig::start(Qpn qpn, QpType type) {
    QpAttr attr;
    attr.port = 1;
    attr.access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    attr.av.dlid = Lid{2};
    attr.path_mtu = 1;
    attr.rq_psn = attr.sq_psn = kPsn;
    attr.dest_qpn = 5;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
    attr.min_rnr_timer = 1;
    attr.timeout = 10;
    attr.retry_cnt = 2;
    attr.rnr_retry = 2;
    QpState state = QpState::kReset;
    for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
        attr.state = to;
        const auto rule = transition_rule(type, state, to);
        hca.modify_qp(qpn, attr, qp_attr::kState | rule->required);
        state = to;
    }
}

void Rig::post(Qpn qpn, QpType type) {
    const Sge place{kAddr, 600, key};
    const Sge word{kAddr, 8, key};
    for (const WrOpcode opcode :
         {WrOpcode::kSend, WrOpcode::kRead, WrOpcode::kFetchAdd, WrOpcode::kWriteImm}) {
        WorkRequest wr;
        wr.opcode = opcode;
        wr.flags = kSendSignaled;
        wr.sges = std::span(opcode == WrOpcode::kFetchAdd ? &word : &place, 1);
        wr.av.dlid = Lid{2};
        if (type != QpType::kXrcRecv) {
            hca.post_send(qpn, wr);
        }
    }
}

/// Returns the headers of a packet. One packet in sixteen has a random address, opcode and PSN.
wire::PacketHeaders Rig::headers(Input in) const {
    const auto byte = [&](std::size_t i) -> std::uint8_t { return i < in.size() ? in[i] : 0; };
    const auto word = [&](std::size_t i) {
        return static_cast<std::uint32_t>(byte(i) << 24 | byte(i + 1) << 16 | byte(i + 2) << 8 |
                                          byte(i + 3));
    };
    const std::size_t q = byte(0) % qpns.size();
    const bool any = byte(1) >= 0xF0;
    wire::PacketHeaders h;
    h.lrh.slid = Lid{static_cast<std::uint16_t>(any ? byte(2) : 2)};
    h.lrh.dlid = Lid{static_cast<std::uint16_t>(any ? word(2) : 1)};
    h.bth.dest_qp = Qpn{any ? word(3) & 0xFFFFFF : qpns[q].value};
    h.bth.p_key = PKey{static_cast<std::uint16_t>(any ? word(4) : 0xFFFF)};
    h.bth.opcode =
        any ? byte(3)
            : wire::opcode(transport_of(kTypes[q]), static_cast<wire::Operation>(byte(3) & 0x1F));
    h.bth.psn = Psn{any ? word(5) & 0xFFFFFF : add24(kPsn, byte(4) % 16)};
    h.bth.a = (byte(1) & 1) != 0;
    h.bth.se = (byte(1) & 2) != 0;
    h.reth = {.va = kAddr + word(5) % (kOpenBytes + 256),
              .r_key = key ^ (byte(9) >> 7),
              .dma_len = word(10) % 2048};
    h.atomic_eth = {
        .va = kAddr + byte(5) * 8, .r_key = h.reth.r_key, .swap_dt = word(6), .cmp_dt = word(7)};
    h.aeth = {.syndrome = byte(5), .msn = byte(6)};
    h.deth = {.q_key = QKey{byte(5) >= 0x80U ? word(6) : 0}, .src_qp = Qpn{byte(6)}};
    h.imm_dt.imm_dt = word(6);
    h.ieth.r_key = word(6);
    h.xrc_eth.xrcsrq = byte(7) >> 6;
    return h;
}

/// Returns whether what the HCA sends can be emitted and parsed, and what it completes was posted.
bool Rig::outputs_hold(std::uint64_t now_ns) {
    Transmit out;
    for (int i = 0; i < 8 && hca.poll_transmit(out, now_ns); ++i) {
        std::vector<std::uint8_t> wire_bytes(wire::kPacketBytesMax);
        const auto size = emit_packet(out, wire_bytes);
        if (!size) {
            return false;
        }
        const auto again = wire::parse_packet(std::span(wire_bytes).first(*size));
        if (!again || again->headers.lrh != out.headers.lrh ||
            again->headers.bth != out.headers.bth) {
            return false;
        }
    }
    while (const auto done = hca.poll_completion(cq)) {
        if (std::ranges::find(qpns, done->qpn) == qpns.end() || done->wr_id >= kTypes.size()) {
            return false;
        }
    }
    while (hca.poll_event()) {
    }
    return true;
}

}  // namespace

bool transport_holds(Input input) {
    Rig rig;
    std::uint64_t now_ns = 0;
    bool holds = rig.outputs_hold(now_ns);
    while (!input.empty() && holds) {
        const std::size_t size = std::min<std::size_t>(input.size(), 16);
        const Input packet = input.first(size);
        input = input.subspan(size);
        const wire::PacketHeaders headers = rig.headers(packet);
        constexpr std::array<std::uint32_t, 4> kLengths{0, 88, 256, 300};
        const std::vector<std::uint8_t> payload(kLengths[packet[size - 1] % kLengths.size()], 0xEE);
        rig.hca.handle_packet(headers, Payload(payload), now_ns);
        now_ns += std::uint64_t{packet[0]} << 12;
        rig.hca.handle_timeout(now_ns);
        holds = rig.outputs_hold(now_ns);
    }
    return holds && std::all_of(rig.bytes.begin() + kOpenBytes, rig.bytes.end(),
                                [](std::uint8_t byte) { return byte == kCanary; });
}

}  // namespace softib::fuzz
