// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/arrival.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/wire/format/bytes.h"
#include "core/wire/packet/crc.h"
#include "core/wire/packet/packet.h"

namespace softib::wire {
namespace {

constexpr ArrivalRules kRules{.data_vls = 4, .bytes_max = 300};

std::vector<std::uint8_t> packet_on(std::uint8_t vl, std::size_t payload_bytes) {
    PacketHeaders headers;
    headers.lrh.vl = vl;
    headers.bth.opcode = opcode(Transport::kRc, Operation::kSendOnly);
    std::vector<std::uint8_t> bytes(kPacketBytesMax);
    const std::vector<std::uint8_t> payload(payload_bytes);
    bytes.resize(*emit_packet(headers, payload, bytes));
    return bytes;
}

Arrival with(std::vector<std::uint8_t> bytes, std::size_t at, int value) {
    bytes[at] = static_cast<std::uint8_t>(value);
    const auto covered = std::span(bytes).first(bytes.size() - kVcrcBytes);
    store_be(&bytes[covered.size()], vcrc(covered));
    return check_arrival(bytes, kRules);
}

TEST(Arrival, LanesThatThePortHas) {
    for (std::uint8_t vl = 0; vl < 16; ++vl) {
        EXPECT_EQ(check_arrival(packet_on(vl, 8), kRules),
                  vl < 4 || vl == 15 ? Arrival::kGood : Arrival::kMalformed);
    }
}

TEST(Arrival, LengthsAndVersion) {
    EXPECT_EQ(check_arrival(packet_on(0, 0), kRules), Arrival::kGood);
    EXPECT_EQ(check_arrival(packet_on(0, 270), kRules), Arrival::kGood);
    EXPECT_EQ(check_arrival(packet_on(0, 276), kRules), Arrival::kMalformed);
    EXPECT_EQ(check_arrival({}, kRules), Arrival::kMalformed);
    const auto packet = packet_on(0, 8);
    EXPECT_EQ(with(packet, 0, packet[0] | 1), Arrival::kMalformed);
    EXPECT_EQ(with(packet, 5, packet[5] + 1), Arrival::kMalformed);
    EXPECT_EQ(with(packet, 5, packet[5]), Arrival::kGood);
}

TEST(Arrival, AFlippedBitIsAPhysicalError) {
    auto packet = packet_on(0, 8);
    for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
        packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
        EXPECT_EQ(check_arrival(packet, kRules), Arrival::kPhysical) << bit;
        packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    }
}

/// Only the HCA at the end of the path checks the ICRC.
TEST(Arrival, TheIcrcIsNotTheLinksBusiness) {
    const auto packet = packet_on(0, 8);
    EXPECT_EQ(with(packet, packet.size() - 3, packet[packet.size() - 3] ^ 1), Arrival::kGood);
}

}  // namespace
}  // namespace softib::wire
