// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <vector>

#include "core/base/prng.h"
#include "core/wire/format/bytes.h"
#include "core/wire/format/test_bytes.h"
#include "core/wire/packet/crc.h"

namespace softib::wire {

namespace {

template <Attribute T>
T random_header(Prng& prng) {
    return *parse<T>(random_bytes(prng, T::kBytes));
}

std::vector<std::uint8_t> known_opcodes() {
    std::vector<std::uint8_t> opcodes;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (opcode_info(static_cast<std::uint8_t>(opcode))) {
            opcodes.push_back(static_cast<std::uint8_t>(opcode));
        }
    }
    return opcodes;
}

/// Returns random headers, with those extended headers that the opcode has.
PacketHeaders random_headers(Prng& prng, std::uint8_t opcode, bool global) {
    const std::uint16_t bits = opcode_info(opcode)->headers;
    PacketHeaders headers;
    headers.lrh = random_header<Lrh>(prng);
    if (global) {
        headers.grh = random_header<Grh>(prng);
    }
    headers.bth = random_header<Bth>(prng);
    headers.bth.opcode = opcode;
    const auto fill = [&]<Attribute T>(std::uint16_t bit, T& header) {
        if ((bits & bit) != 0) {
            header = random_header<T>(prng);
        }
    };
    fill(extended::kRdeth, headers.rdeth);
    fill(extended::kXrcEth, headers.xrc_eth);
    fill(extended::kDeth, headers.deth);
    fill(extended::kReth, headers.reth);
    fill(extended::kAtomicEth, headers.atomic_eth);
    fill(extended::kAeth, headers.aeth);
    fill(extended::kAtomicAckEth, headers.atomic_ack_eth);
    fill(extended::kImmDt, headers.imm_dt);
    fill(extended::kIeth, headers.ieth);
    return headers;
}

Bytes emitted(const PacketHeaders& headers, std::span<const std::uint8_t> payload) {
    Bytes bytes(kPacketBytesMax, 0xA5);
    const auto size = emit_packet(headers, payload, bytes);
    SOFTIB_CHECK(size.has_value());
    bytes.resize(*size);
    return bytes;
}

/// Sets the CRCs of a packet whose bytes were changed.
void set_check_sums(Bytes& bytes) {
    const std::span<std::uint8_t> all(bytes);
    store_be(&bytes[bytes.size() - 6], icrc(all.first(bytes.size() - 6)));
    store_be(&bytes[bytes.size() - 2], vcrc(all.first(bytes.size() - 2)));
}

Bytes a_packet(std::uint8_t opcode, std::size_t payload_bytes, bool global = false) {
    Prng prng(9);
    return emitted(random_headers(prng, opcode, global), random_bytes(prng, payload_bytes));
}

void expect_error(const Bytes& bytes, PacketError error) {
    const auto packet = parse_packet(bytes);
    ASSERT_FALSE(packet);
    EXPECT_EQ(packet.error(), error) << to_string(packet.error());
}

constexpr std::uint8_t kRcSendOnly = opcode(Transport::kRc, Operation::kSendOnly);
constexpr std::uint8_t kRcAcknowledge = opcode(Transport::kRc, Operation::kAcknowledge);

}  // namespace

TEST(Opcode, TransportsHaveTheirOperations) {
    EXPECT_EQ(known_opcodes().size(), 24U + 12U + 22U + 2U + 2U + 24U);
    EXPECT_EQ(opcode(Transport::kUd, Operation::kSendOnlyImm), 0x65);
    EXPECT_EQ(opcode(Transport::kXrc, Operation::kSendOnlyInvalidate), 0xB7);
    for (const int reserved : {0x15, 0x18, 0x1F, 0x2C, 0x36, 0x56, 0x60, 0x66, 0x82, 0xB5, 0xFF}) {
        EXPECT_FALSE(opcode_info(static_cast<std::uint8_t>(reserved))) << reserved;
    }
}

TEST(Opcode, HeadersOfEachKind) {
    const auto bytes = [](Transport transport, Operation operation) {
        return opcode_info(opcode(transport, operation))->header_bytes();
    };
    EXPECT_EQ(bytes(Transport::kRc, Operation::kSendMiddle), 0U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kWriteFirst), 16U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kWriteMiddle), 0U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kWriteLastImm), 4U);
    EXPECT_EQ(bytes(Transport::kUc, Operation::kWriteOnlyImm), 20U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kReadResponseMiddle), 0U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kReadResponseLast), 4U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kAtomicAcknowledge), 12U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kFetchAdd), 28U);
    EXPECT_EQ(bytes(Transport::kRc, Operation::kAtomicWrite), 16U);
    EXPECT_EQ(bytes(Transport::kUd, Operation::kSendOnly), 8U);
    EXPECT_EQ(bytes(Transport::kUd, Operation::kSendOnlyImm), 12U);
    EXPECT_EQ(bytes(Transport::kXrc, Operation::kSendOnlyInvalidate), 8U);
    EXPECT_EQ(bytes(Transport::kXrc, Operation::kCompareSwap), 32U);
    EXPECT_EQ(bytes(Transport::kXrc, Operation::kAcknowledge), 4U);
    EXPECT_EQ(bytes(Transport::kRd, Operation::kSendMiddle), 12U);
    EXPECT_EQ(bytes(Transport::kRd, Operation::kWriteOnlyImm), 32U);
    EXPECT_EQ(bytes(Transport::kRd, Operation::kReadResponseMiddle), 4U);
    EXPECT_EQ(bytes(Transport::kRd, Operation::kAtomicAcknowledge), 16U);
    EXPECT_EQ(bytes(Transport::kRd, Operation::kResync), 12U);
    EXPECT_EQ(opcode(Transport::kRd, Operation::kResync), 0x55);
    EXPECT_EQ(opcode_info(kCnpOpcode)->transport, Transport::kCnp);
    EXPECT_EQ(opcode_info(kCnpOpcode)->header_bytes(), 0U);
    EXPECT_FALSE(opcode_info(kCnpOpcode)->has_payload);
    EXPECT_TRUE(opcode_info(kRoceCnpOpcode)->has_payload);
}

TEST(Opcode, NamesDiffer) {
    std::set<std::string_view> names;
    for (const std::uint8_t opcode : known_opcodes()) {
        names.insert(to_string(opcode_info(opcode)->operation));
    }
    EXPECT_EQ(names.size(), 25U);
    EXPECT_FALSE(names.contains("?"));
}

TEST(Packet, EveryOpcodeComesBackAsItWent) {
    Prng prng(1);
    for (const std::uint8_t opcode : known_opcodes()) {
        for (int round = 0; round < 40; ++round) {
            PacketHeaders headers = random_headers(prng, opcode, round % 2 == 0);
            const std::size_t size = opcode_info(opcode)->has_payload ? prng.below(70) : 0;
            const Bytes payload = random_bytes(prng, size);
            const Bytes bytes = emitted(headers, payload);
            const auto packet = parse_packet(bytes);
            ASSERT_TRUE(packet) << int{opcode} << ": " << to_string(packet.error());
            EXPECT_TRUE(std::ranges::equal(packet->payload, payload));
            EXPECT_EQ(emitted(packet->headers, packet->payload), bytes);
            // The fields that emit_packet computes.
            headers.lrh.lver = 0;
            headers.lrh.lnh = headers.grh ? LinkNextHeader::kGlobal : LinkNextHeader::kLocal;
            headers.lrh.pkt_len = static_cast<std::uint16_t>(bytes.size() / 4);
            headers.bth.tver = 0;
            headers.bth.pad_cnt = static_cast<std::uint8_t>((4 - size % 4) % 4);
            if (headers.grh) {
                headers.grh->ip_ver = 6;
                headers.grh->nxt_hdr = 0x1B;
                headers.grh->pay_len = static_cast<std::uint16_t>(bytes.size() - 50);
            }
            EXPECT_EQ(packet->headers, headers) << to_string(packet->headers);
        }
    }
}

TEST(Packet, LargestFitsAndNoLarger) {
    const std::uint8_t opcode = wire::opcode(Transport::kXrc, Operation::kWriteOnlyImm);
    EXPECT_EQ(a_packet(opcode, kPayloadBytesMax, true).size(), kPacketBytesMax - 8);
    Bytes out(2 * kPacketBytesMax);
    PacketHeaders headers;
    headers.bth.opcode = kRcSendOnly;
    EXPECT_EQ(emit_packet(headers, Bytes(kPayloadBytesMax + 1), out).error(),
              PacketError::kPayload);
}

TEST(Packet, EmitRefusesWhatNobodyCouldRead) {
    Bytes out(100, 0xA5);
    PacketHeaders headers;
    headers.bth.opcode = kRcAcknowledge;
    EXPECT_EQ(emit_packet(headers, Bytes(1), out).error(), PacketError::kPayload);
    EXPECT_EQ(emit_packet(headers, {}, std::span(out).first(29)).error(), PacketError::kTooShort);
    EXPECT_EQ(std::ranges::count(out, 0xA5), 100);
    EXPECT_EQ(emit_packet(headers, {}, std::span(out).first(30)), 30U);
    EXPECT_EQ(std::ranges::count(out | std::views::drop(30), 0xA5), 70);
    headers.bth.opcode = 0x56;
    EXPECT_EQ(emit_packet(headers, {}, out).error(), PacketError::kOpcode);
}

TEST(Packet, EveryFlippedBitIsNoticed) {
    for (const bool global : {false, true}) {
        Bytes bytes = a_packet(kRcSendOnly, 21, global);
        ASSERT_TRUE(parse_packet(bytes));
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
            EXPECT_FALSE(parse_packet(bytes)) << bit;
            bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
        }
    }
}

TEST(Packet, CutAnywhereIsRefused) {
    for (const bool global : {false, true}) {
        const Bytes whole = a_packet(opcode(Transport::kXrc, Operation::kFetchAdd), 0, global);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_FALSE(parse_packet(bytes)) << size;
            if (size >= 26) {  // The lengths and CRCs are right, so only the cut itself is wrong.
                store_be(&bytes[4], static_cast<std::uint16_t>(size / 4));
                if (global) {
                    store_be(&bytes[12], static_cast<std::uint16_t>(size - 50));
                }
                set_check_sums(bytes);
                EXPECT_FALSE(parse_packet(bytes)) << size;
            }
        }
    }
}

TEST(Packet, EachFaultHasItsError) {
    const auto changed = [](Bytes bytes, std::size_t at, int value) {
        bytes[at] = static_cast<std::uint8_t>(value);
        set_check_sums(bytes);
        return bytes;
    };
    const Bytes local = a_packet(kRcSendOnly, 8);
    const Bytes global = a_packet(kRcSendOnly, 8, true);
    expect_error({}, PacketError::kTooShort);
    expect_error(changed(local, 0, local[0] | 1), PacketError::kLinkVersion);
    expect_error(changed(local, 5, local[5] + 1), PacketError::kLength);
    expect_error(changed(local, 1, 0x00), PacketError::kNotIba);
    expect_error(changed(local, 1, 0x01), PacketError::kNotIba);
    expect_error(changed(local, 1, 0x03), PacketError::kTooShort);  // No room for a GRH.
    expect_error(changed(local, 8, 0x15), PacketError::kOpcode);
    expect_error(changed(local, 9, 0x01), PacketError::kTransportVersion);
    expect_error(changed(local, 8, opcode(Transport::kRc, Operation::kFetchAdd)),
                 PacketError::kTooShort);
    expect_error(changed(local, 8, kRcAcknowledge), PacketError::kPayload);
    expect_error(changed(a_packet(kRcSendOnly, 0), 9, 0x10), PacketError::kPayload);
    expect_error(changed(global, 8, 0x40), PacketError::kNotIba);
    expect_error(changed(global, 14, 0x11), PacketError::kNotIba);
    expect_error(changed(global, 13, global[13] + 1), PacketError::kLength);
    Bytes bytes = local;
    bytes.back() ^= 1;
    expect_error(bytes, PacketError::kVcrc);
    bytes = local;
    bytes[bytes.size() - 3] ^= 1;
    store_be(&bytes[bytes.size() - 2], vcrc(std::span(bytes).first(bytes.size() - 2)));
    expect_error(bytes, PacketError::kIcrc);
}

TEST(Packet, AnotherLaneKeepsTheIcrc) {
    Bytes bytes = a_packet(kRcSendOnly, 8);
    bytes[0] ^= 0x30;
    store_be(&bytes[bytes.size() - 2], vcrc(std::span(bytes).first(bytes.size() - 2)));
    EXPECT_TRUE(parse_packet(bytes));
}

TEST(Packet, PrintsTheHeadersItHas) {
    PacketHeaders headers;
    headers.bth.opcode = opcode(Transport::kUd, Operation::kSendOnlyImm);
    const std::string line = to_string(headers);
    EXPECT_NE(line.find("LRH VL 0"), std::string::npos) << line;
    EXPECT_NE(line.find(" DETH Q_Key"), std::string::npos) << line;
    EXPECT_NE(line.find(" ImmDt ImmDt"), std::string::npos) << line;
    EXPECT_EQ(line.find("RETH"), std::string::npos) << line;
    EXPECT_EQ(line.find("GRH"), std::string::npos) << line;
}

TEST(FlowControl, ComesBackAsItWent) {
    Prng prng(1);
    for (int round = 0; round < 200; ++round) {
        const auto packet = random_header<FlowControlPacket>(prng);
        std::array<std::uint8_t, FlowControlPacket::kBytes> bytes{};
        emit_flow_control(packet, bytes);
        FlowControlPacket expected = packet;
        expected.lpcrc = vcrc(std::span(bytes).first(4));
        EXPECT_EQ(parse_flow_control(bytes), expected);
        bytes[prng.below(6)] ^= 0x10;
        EXPECT_EQ(parse_flow_control(bytes).error(), PacketError::kVcrc);
    }
    EXPECT_EQ(parse_flow_control(Bytes(5)).error(), PacketError::kTooShort);
    EXPECT_EQ(parse_flow_control(Bytes(7)).error(), PacketError::kLength);
}

}  // namespace softib::wire
