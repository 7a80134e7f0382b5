// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/roce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/prng.h"
#include "core/wire/format/bytes.h"
#include "core/wire/format/test_bytes.h"
#include "core/wire/packet/crc.h"

namespace softib::wire {

namespace {

constexpr std::size_t kIpAt = EthernetHeader::kBytes;
constexpr std::size_t kUdpAt = kIpAt + Ipv4Header::kBytes;
constexpr std::size_t kBthAt = kUdpAt + UdpHeader::kBytes;

Bytes some_payload(std::size_t size) {
    Prng prng(7);
    return random_bytes(prng, size);
}

RoceFrame a_frame(bool ipv4, std::span<const std::uint8_t> payload) {
    RoceFrame frame;
    frame.ethernet = {.destination = {2, 0, 0, 0, 0, 1},
                      .source = {2, 0, 0, 0, 0, 2},
                      .type = ipv4 ? ether_type::kIpv4 : ether_type::kIpv6};
    PacketHeaders& headers = frame.roce.packet.headers;
    headers.bth = {.opcode = opcode(Transport::kUd, Operation::kSendOnly),
                   .p_key = kPKeyDefaultFull,
                   .dest_qp = Qpn{17},
                   .psn = Psn{5}};
    headers.deth = {.q_key = QKey{0x11111111}, .src_qp = Qpn{0x123}};
    Grh& route = headers.grh.emplace();
    route.tclass = 0x68;
    route.hop_lmt = 64;
    if (ipv4) {
        route.sgid = ipv4_gid(0x0A090002);
        route.dgid = ipv4_gid(0x0A090001);
    } else {
        route.flow_label = 0x12345;
        route.sgid = Gid::from(kSubnetPrefixDefault, Guid{2});
        route.dgid = Gid::from(kSubnetPrefixDefault, Guid{1});
    }
    frame.roce.fields.source_port = 0xC123;
    frame.roce.fields.ipv4_id = ipv4 ? 1387 : 0;
    frame.roce.packet.payload = payload;
    return frame;
}

Bytes emitted(const RoceFrame& frame) {
    Bytes bytes(kRoceBytesMax);
    const auto size = emit_roce_frame(frame, bytes);
    SOFTIB_CHECK(size.has_value());
    bytes.resize(*size);
    return bytes;
}

/// Sets the check sums of an untagged IPv4 frame whose bytes were changed.
void set_frame_check_sums(Bytes& frame) {
    store_be(&frame[kIpAt + 10], std::uint16_t{0});
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < Ipv4Header::kBytes; i += 2) {
        sum += load_be<std::uint16_t>(&frame[kIpAt + i]);
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    store_be(&frame[kIpAt + 10], static_cast<std::uint16_t>(~sum));
    const auto datagram = std::span(frame).subspan(kIpAt);
    const auto covered = datagram.first(datagram.size() - kIcrcBytes);
    store_be(&frame[frame.size() - kIcrcBytes], icrc_of_datagram(covered).value_or(0));
}

void expect_frame_error(const Bytes& bytes, PacketError error) {
    const auto frame = parse_roce_frame(bytes);
    ASSERT_FALSE(frame);
    EXPECT_EQ(frame.error(), error) << to_string(frame.error());
}

}  // namespace

TEST(Roce, FramesComeBackAsTheyWent) {
    for (const bool ipv4 : {true, false}) {
        for (const bool tagged : {true, false}) {
            for (const std::size_t size : {0U, 1U, 21U, 4096U}) {
                const Bytes payload = some_payload(size);
                RoceFrame frame = a_frame(ipv4, payload);
                if (tagged) {
                    frame.vlan = {.priority = 3, .vlan = 100};
                }
                const Bytes bytes = emitted(frame);
                const auto parsed = parse_roce_frame(bytes);
                ASSERT_TRUE(parsed) << to_string(parsed.error());
                EXPECT_EQ(parsed->ethernet.source, frame.ethernet.source);
                EXPECT_EQ(parsed->vlan.has_value(), tagged);
                EXPECT_EQ(parsed->roce.fields, frame.roce.fields);
                const PacketHeaders& headers = parsed->roce.packet.headers;
                EXPECT_EQ(headers.deth, frame.roce.packet.headers.deth);
                EXPECT_EQ(headers.bth.pad_cnt, (4 - size % 4) % 4);
                Grh route = *frame.roce.packet.headers.grh;
                route.pay_len = headers.grh->pay_len;
                EXPECT_EQ(headers.grh, route);
                EXPECT_TRUE(std::ranges::equal(parsed->roce.packet.payload, payload));
                EXPECT_EQ(emitted(*parsed), bytes);
            }
        }
    }
}

TEST(Roce, TheSocketsFormIsTheDatagramsPayload) {
    for (const bool ipv4 : {true, false}) {
        const Bytes payload = some_payload(33);
        const RoceFrame frame = a_frame(ipv4, payload);
        const PacketHeaders& headers = frame.roce.packet.headers;
        const Bytes whole = emitted(frame);
        Bytes bytes(kRoceBytesMax);
        const auto size = emit_roce_payload(headers, frame.roce.fields, payload, bytes);
        ASSERT_TRUE(size);
        bytes.resize(*size);
        EXPECT_TRUE(std::ranges::equal(std::span(whole).last(*size), bytes));
        const auto parsed = parse_roce_payload(bytes, *headers.grh, frame.roce.fields);
        ASSERT_TRUE(parsed) << to_string(parsed.error());
        EXPECT_TRUE(std::ranges::equal(parsed->payload, payload));
        // Fields that routers change do not count, but the sender's address does.
        Grh route = *headers.grh;
        route.tclass = 3;
        route.hop_lmt = 1;
        EXPECT_TRUE(parse_roce_payload(bytes, route, frame.roce.fields));
        route.sgid.bytes[15] ^= 1;
        EXPECT_EQ(parse_roce_payload(bytes, route, frame.roce.fields).error(), PacketError::kIcrc);
        EXPECT_TRUE(parse_roce_payload(bytes, route, frame.roce.fields, CheckIcrc::kNo));
        RoceFields fields = frame.roce.fields;
        fields.source_port ^= 1;
        EXPECT_FALSE(parse_roce_payload(bytes, *headers.grh, fields));
        // The ICRC covers Identification, which a socket does not know.
        fields = frame.roce.fields;
        fields.ipv4_id ^= 1;
        EXPECT_EQ(parse_roce_payload(bytes, *headers.grh, fields).has_value(), !ipv4);
    }
}

TEST(Roce, EveryFlippedBitThatCountsIsNoticed) {
    for (const bool ipv4 : {true, false}) {
        Bytes bytes = emitted(a_frame(ipv4, some_payload(21)));
        std::size_t passed = 0;
        for (std::size_t bit = 8 * kIpAt; bit < 8 * bytes.size(); ++bit) {
            bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
            passed += parse_roce_frame(bytes).has_value() ? 1U : 0U;
            bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
        }
        // The ICRC does not cover the BTH's byte of FECN and BECN and, with IPv6, traffic class,
        // flow label and hop limit.
        EXPECT_EQ(passed, ipv4 ? 8U : 8U + 8 + 20 + 8);
    }
}

TEST(Roce, CutAnywhereIsRefused) {
    for (const bool ipv4 : {true, false}) {
        const Bytes whole = emitted(a_frame(ipv4, some_payload(8)));
        for (std::size_t size = 0; size < whole.size(); ++size) {
            EXPECT_FALSE(parse_roce_frame(std::span(whole).first(size))) << size;
            EXPECT_FALSE(parse_roce_datagram(
                std::span(whole).subspan(kIpAt).first(size - std::min(size, kIpAt))));
        }
    }
}

TEST(Roce, PaddingOfAShortFrameIsLeftOut) {
    Bytes bytes = emitted(a_frame(true, {}));
    bytes.resize(bytes.size() + 13, 0xEE);
    const auto frame = parse_roce_frame(bytes);
    ASSERT_TRUE(frame) << to_string(frame.error());
    EXPECT_TRUE(frame->roce.packet.payload.empty());
}

TEST(Roce, EachFaultHasItsError) {
    const Bytes payload = some_payload(8);
    const Bytes good = emitted(a_frame(true, payload));
    const auto changed = [&](std::size_t at, int value) {
        Bytes bytes = good;
        bytes[at] = static_cast<std::uint8_t>(value);
        set_frame_check_sums(bytes);
        return bytes;
    };
    ASSERT_EQ(changed(0, good[0]), good);
    expect_frame_error(changed(12, 0x89), PacketError::kNotRoce);     // Another type.
    expect_frame_error(changed(kIpAt, 0x65), PacketError::kNotRoce);  // IPv6 in a frame of IPv4.
    expect_frame_error(changed(kIpAt, 0x46), PacketError::kNotRoce);  // Options.
    expect_frame_error(changed(kIpAt + 6, 0x20), PacketError::kNotRoce);   // More fragments.
    expect_frame_error(changed(kIpAt + 7, 0x01), PacketError::kNotRoce);   // A fragment.
    expect_frame_error(changed(kIpAt + 9, 6), PacketError::kNotRoce);      // TCP.
    expect_frame_error(changed(kUdpAt + 3, 0xB8), PacketError::kNotRoce);  // Port 4792.
    expect_frame_error(changed(kUdpAt + 5, good[kUdpAt + 5] + 4), PacketError::kLength);
    expect_frame_error(changed(kIpAt + 3, 0xFF), PacketError::kLength);
    expect_frame_error(changed(kUdpAt + 6, 0x12), PacketError::kUdpChecksum);
    expect_frame_error(changed(kBthAt, 0xFF), PacketError::kOpcode);
    expect_frame_error(changed(kBthAt + 1, 0x01), PacketError::kTransportVersion);
    Bytes bytes = good;
    bytes[kIpAt + 10] ^= 1;
    expect_frame_error(bytes, PacketError::kIpChecksum);
    bytes = good;
    bytes.back() ^= 1;
    expect_frame_error(bytes, PacketError::kIcrc);
}

TEST(Roce, AUdpCheckSumThatIsThereMustBeRight) {
    // Computed here: addresses, protocol, length, then the datagram.
    for (const std::size_t size : {8U, 9U}) {
        Bytes bytes = emitted(a_frame(true, some_payload(size)));
        std::uint32_t sum = 17 + static_cast<std::uint32_t>(bytes.size() - kUdpAt);
        for (std::size_t i = kIpAt + 12; i < bytes.size(); i += 2) {
            sum += load_be<std::uint16_t>(&bytes[i]);
        }
        while (sum > 0xFFFF) {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        store_be(&bytes[kUdpAt + 6], static_cast<std::uint16_t>(~sum));
        EXPECT_TRUE(parse_roce_frame(bytes));
        bytes[kUdpAt + 7] ^= 1;
        expect_frame_error(bytes, PacketError::kUdpChecksum);
    }
}

TEST(Roce, WhatHasNoAddressesIsNotEmitted) {
    RoceFrame frame = a_frame(true, {});
    Bytes out(kRoceBytesMax);
    frame.roce.packet.headers.grh->dgid = Gid::from(kSubnetPrefixDefault, Guid{1});
    EXPECT_EQ(emit_roce_frame(frame, out).error(), PacketError::kNotRoce);
    frame.roce.packet.headers.grh.reset();
    EXPECT_EQ(emit_roce_frame(frame, out).error(), PacketError::kNotRoce);
    frame = a_frame(true, {});
    const std::size_t size = emitted(frame).size();
    EXPECT_EQ(emit_roce_frame(frame, std::span(out).first(size - 1)).error(),
              PacketError::kTooShort);
    EXPECT_EQ(emit_roce_frame(frame, std::span(out).first(3)).error(), PacketError::kTooShort);
    frame.roce.packet.headers.bth.opcode = 0xFF;
    EXPECT_EQ(emit_roce_frame(frame, out).error(), PacketError::kOpcode);
}

/// The ICRC of a frame like those of Linux' rdma_rxe, whose Identification is not zero. The
/// expected value was computed with zlib.
TEST(Roce, AKnownIcrc) {
    const Bytes payload = {'h', 'e', 'l', 'l', 'o'};
    const Bytes bytes = emitted(a_frame(true, payload));
    EXPECT_EQ(load_be<std::uint32_t>(&bytes[bytes.size() - kIcrcBytes]), 0x730B2929U);
}

/// A socket does not show the IPv4 header of a datagram that it receives.
TEST(Roce, AnUnknownIdentificationExplainsAnIcrcAndNothingElseDoes) {
    const Bytes payload = some_payload(1024);
    const RoceFrame frame = a_frame(true, payload);
    const Bytes bytes = emitted(frame);
    const Bytes good(bytes.begin() + kBthAt, bytes.end());
    const Grh& route = *frame.roce.packet.headers.grh;
    RoceFields guess = frame.roce.fields;
    guess.ipv4_id = 0;
    EXPECT_EQ(parse_roce_payload(good, route, guess).error(), PacketError::kIcrc);
    EXPECT_TRUE(parse_roce_payload(good, route, guess, CheckIcrc::kAnyIpv4Id));
    for (std::size_t at = 12; at < good.size(); ++at) {
        Bytes broken = good;
        broken[at] ^= 0x10;
        EXPECT_EQ(parse_roce_payload(broken, route, guess, CheckIcrc::kAnyIpv4Id).error(),
                  PacketError::kIcrc)
            << at;
    }
    guess.source_port ^= 1;
    EXPECT_FALSE(parse_roce_payload(good, route, guess, CheckIcrc::kAnyIpv4Id));
}

TEST(Roce, OverIpv6AWrongIcrcIsAlwaysRefused) {
    const Bytes payload = some_payload(64);
    const RoceFrame frame = a_frame(false, payload);
    const Bytes bytes = emitted(frame);
    Bytes body(bytes.begin() + kIpAt + Grh::kBytes + UdpHeader::kBytes, bytes.end());
    const Grh& route = *frame.roce.packet.headers.grh;
    EXPECT_TRUE(parse_roce_payload(body, route, frame.roce.fields, CheckIcrc::kAnyIpv4Id));
    body.back() ^= 1;
    EXPECT_FALSE(parse_roce_payload(body, route, frame.roce.fields, CheckIcrc::kAnyIpv4Id));
}

TEST(Roce, TheNetworkHeaderStandsAtTheEndOfItsPlace) {
    Grh route = *a_frame(true, {}).roce.packet.headers.grh;
    route.pay_len = 100;
    const auto v4 = roce_network_header(route);
    EXPECT_TRUE(std::ranges::all_of(std::span(v4).first(20), [](auto byte) { return byte == 0; }));
    const auto ip = parse<Ipv4Header>(std::span<const std::uint8_t>(v4).last<Ipv4Header::kBytes>());
    EXPECT_EQ(ip.source, 0x0A090002U);
    EXPECT_EQ(ip.destination, 0x0A090001U);
    EXPECT_EQ(ip.total_bytes, 100 + Ipv4Header::kBytes + UdpHeader::kBytes);
    route = *a_frame(false, {}).roce.packet.headers.grh;
    const auto v6 =
        parse<Grh>(std::span<const std::uint8_t, Grh::kBytes>(roce_network_header(route)));
    EXPECT_EQ(v6.sgid, route.sgid);
    EXPECT_EQ(v6.nxt_hdr, kIpProtocolUdp);
}

}  // namespace softib::wire
