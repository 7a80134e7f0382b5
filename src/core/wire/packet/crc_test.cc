// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/crc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/base/prng.h"
#include "core/wire/format/test_bytes.h"
#include "core/wire/packet/crc_shift.h"
#include "core/wire/packet/packet.h"

namespace softib::wire {

namespace {

/// Computes a CRC by polynomial division, a bit at a time, with the highest power on the left.
std::uint64_t divide(std::span<const std::uint8_t> bytes, int width, std::uint64_t polynomial) {
    const std::uint64_t top = std::uint64_t{1} << (width - 1);
    std::uint64_t rest = top | (top - 1);
    for (const std::uint8_t byte : bytes) {
        for (int bit = 0; bit < 8; ++bit) {
            const bool out = (rest & top) != 0;
            const bool in = (byte >> bit & 1) != 0;
            rest = (rest << 1 & (top | (top - 1))) ^ (out != in ? polynomial : 0);
        }
    }
    // The highest power goes first on the wire, in the lowest bit of the first byte.
    std::uint64_t wire = 0;
    for (int i = 0; i < width; ++i) {
        const std::uint64_t bit = (~rest >> (width - 1 - i)) & 1;
        wire |= bit << (width - 8 - i / 8 * 8 + i % 8);
    }
    return wire;
}

std::uint32_t slow_icrc(Bytes packet, const std::vector<std::size_t>& ones) {
    for (const std::size_t at : ones) {
        packet[at] = 0xFF;
    }
    return static_cast<std::uint32_t>(divide(packet, 32, 0x04C11DB7));
}

/// An RDMA WRITE of 14 bytes: the local packet in the example of IBA vol. 1, 7.8, with its ICRC.
/// The VCRC is not in the example; it was computed by `divide`.
constexpr std::array<std::uint8_t, 58> kExample = {
    0x70, 0x12, 0x37, 0x5C, 0x00, 0x0E, 0x17, 0xD2,                          // LRH
    0x0A, 0x20, 0x24, 0x87, 0x00, 0x87, 0xB1, 0xB3, 0x00, 0x0D, 0xEC, 0x2A,  // BTH
    0x01, 0x71, 0x0A, 0x1C, 0x01, 0x5D, 0x40, 0x02,                          // RETH: VA
    0x38, 0xF2, 0x7A, 0x05, 0x00, 0x00, 0x00, 0x0E,                          // R_Key, DMALen
    0xBB, 0x88, 0x4D, 0x85, 0xFD, 0x5C, 0xFB, 0xA4,                          // payload
    0x72, 0x8B, 0xC0, 0x69, 0x0E, 0xD4, 0x00, 0x00,                          // payload, padding
    0x96, 0x25, 0xB7, 0x5A, 0x45, 0xFA,                                      // ICRC, VCRC
};

}  // namespace

TEST(Crc, OfTheSpecificationsExample) {
    const std::span<const std::uint8_t> bytes(kExample);
    EXPECT_EQ(icrc(bytes.first(52)), 0x9625B75A);
    EXPECT_EQ(vcrc(bytes.first(56)), 0x45FA);
    EXPECT_EQ(divide(bytes.first(56), 16, 0x100B), 0x45FAU);
    const auto packet = parse_packet(bytes);
    ASSERT_TRUE(packet) << to_string(packet.error());
    EXPECT_EQ(packet->headers.lrh,
              (Lrh{.vl = 7, .sl = 1, .dlid = Lid{0x375C}, .pkt_len = 14, .slid = Lid{0x17D2}}));
    EXPECT_EQ(packet->headers.bth.dest_qp, Qpn{0x87B1B3});
    EXPECT_EQ(packet->headers.bth.psn, Psn{0x0DEC2A});
    EXPECT_EQ(packet->headers.reth,
              (Reth{.va = 0x01710A1C015D4002, .r_key = 0x38F27A05, .dma_len = 14}));
    EXPECT_EQ(packet->payload.size(), 14U);
    std::array<std::uint8_t, kExample.size()> emitted{};
    ASSERT_EQ(emit_packet(packet->headers, packet->payload, emitted), kExample.size());
    EXPECT_EQ(emitted, kExample);
}

TEST(Crc, VcrcIsTheDivisionOfEveryLength) {
    Prng prng(1);
    for (std::size_t size = 0; size < 70; ++size) {
        const Bytes bytes = random_bytes(prng, size);
        EXPECT_EQ(vcrc(bytes), divide(bytes, 16, 0x100B)) << size;
    }
}

TEST(Crc, IcrcOfLocalPacketsLeavesOutVlAndCongestionBits) {
    Prng prng(2);
    for (std::size_t size = 20; size < 150; ++size) {
        Bytes packet = random_bytes(prng, size);
        packet[1] = 0x02;
        packet[0] |= 0xF0;
        const std::uint32_t expected = slow_icrc(packet, {12});
        packet[0] = static_cast<std::uint8_t>(packet[0] & 0x0F) | 0x50;
        EXPECT_EQ(icrc(packet), expected) << size;
        packet[0] ^= 1;
        EXPECT_NE(icrc(packet), expected) << size;
    }
}

TEST(Crc, IcrcOfGlobalPacketsLeavesOutWhatRoutersChange) {
    Prng prng(3);
    for (std::size_t size = 60; size < 150; ++size) {
        Bytes packet = random_bytes(prng, size);
        packet[1] = 0x13;
        packet[8] |= 0x0F;
        const std::uint32_t expected =
            slow_icrc(packet, {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 52});
        packet[8] &= 0xF3;
        EXPECT_EQ(icrc(packet), expected) << size;
        packet[12] ^= 1;  // PayLen.
        EXPECT_NE(icrc(packet), expected) << size;
    }
}

TEST(Crc, OfDatagramsTakesOnesForTheLrh) {
    Prng prng(4);
    for (const bool ipv4 : {true, false}) {
        for (std::size_t size = 60; size < 150; ++size) {
            const Bytes ones(8, 0xFF);
            Bytes datagram = random_bytes(prng, size);
            datagram[0] = ipv4 ? 0x45 : 0x6F;
            Bytes packet = ones;
            packet.insert(packet.end(), datagram.begin(), datagram.end());
            const std::uint32_t expected =
                ipv4 ? slow_icrc(packet, {8 + 1, 8 + 8, 8 + 10, 8 + 11, 8 + 26, 8 + 27, 8 + 32})
                     : slow_icrc(packet, {8 + 1, 8 + 2, 8 + 3, 8 + 7, 8 + 46, 8 + 47, 8 + 52});
            EXPECT_EQ(icrc_of_datagram(datagram), expected) << size;
            if (!ipv4) {
                datagram[0] = 0x60;  // The traffic class does not count.
                EXPECT_EQ(icrc_of_datagram(datagram), expected) << size;
            }
        }
    }
}

TEST(Crc, OfWhatIsNoDatagramIsNothing) {
    Bytes datagram(80, 0);
    for (const int first : {0x00, 0x44, 0x55, 0x7F, 0xFF}) {  // 0x44: a header of 16 bytes.
        datagram[0] = static_cast<std::uint8_t>(first);
        EXPECT_FALSE(icrc_of_datagram(datagram)) << first;
    }
    EXPECT_FALSE(icrc_of_datagram({}));
    datagram[0] = 0x45;
    EXPECT_FALSE(icrc_of_datagram(std::span(datagram).first(39)));
    EXPECT_TRUE(icrc_of_datagram(std::span(datagram).first(40)));
    datagram[0] = 0x60;
    EXPECT_FALSE(icrc_of_datagram(std::span(datagram).first(59)));
    EXPECT_TRUE(icrc_of_datagram(std::span(datagram).first(60)));
    datagram[0] = 0x4F;  // Options fill the longest header: 60 bytes and 20 more.
    EXPECT_FALSE(icrc_of_datagram(std::span(datagram).first(79)));
    EXPECT_TRUE(icrc_of_datagram(datagram));
}

TEST(Crc, LongPacketsGoTheQuickWay) {
    Prng prng(11);
    for (std::size_t size = 100; size < 460; ++size) {
        Bytes packet = random_bytes(prng, size);
        packet[0] = 0xFF;
        packet[1] = 0x02;  // No GRH.
        ASSERT_EQ(icrc(packet), slow_icrc(packet, {12})) << size;
    }
}

TEST(Crc, ADifferenceTellsItsCause) {
    Prng prng(12);
    const Bytes packet = random_bytes(prng, 4200);
    for (std::size_t before_end = 4; before_end < 4100; before_end += 117) {
        Bytes other = packet;
        const std::size_t at = other.size() - before_end;
        other[at] ^= 0x5A;
        other[at + 1] ^= 0xC3;
        EXPECT_EQ(icrc_cause(icrc(packet) ^ icrc(other), before_end), 0xC35AU) << before_end;
    }
}

}  // namespace softib::wire
