// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/format/layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/wire/sa/guid_info_record.h"
#include "core/wire/sa/node_record.h"
#include "core/wire/sa/path_record.h"
#include "core/wire/sa/service_record.h"

namespace softib::wire {

namespace {

enum class Colour : std::uint8_t { kRed = 5 };

struct Inner {
    static constexpr std::size_t kBytes = 2;
    std::uint8_t low = 0;
    static constexpr auto fields() { return Fields{Field{&Inner::low, "Low", 12, 4}}; }
    friend bool operator==(const Inner&, const Inner&) = default;
};

/// An attribute with every kind of member, at odd places.
struct Sample {
    static constexpr std::size_t kBytes = 40;

    std::uint16_t crossing = 0;
    bool flag = false;
    Colour colour{};
    Lid lid{};
    std::array<std::uint8_t, 4> nibbles{};
    Gid gid{};
    Text<4> text{};
    std::uint32_t three_bytes = 0;
    std::array<Inner, 2> inner{};
    std::array<std::uint8_t, 2> raw{};

    static constexpr auto fields() {
        using T = Sample;
        return Fields{
            Field{&T::crossing, "Crossing", 3, 11}.hex(),
            Field{&T::flag, "Flag", 15, 1},
            Field{&T::colour, "Colour", 16, 3},
            Field{&T::lid, "Lid", 24, 16},
            Field{&T::nibbles, "Nibbles", 40, 4},
            Field{&T::gid, "Gid", 56, 128},
            Field{&T::text, "Text", 184, 32},
            Field{&T::three_bytes, "ThreeBytes", 216, 24},
            Field{&T::inner, "Inner", 240, 16},
            Field{&T::raw, "Raw", 272, 8}.hex(),
        };
    }
    friend bool operator==(const Sample&, const Sample&) = default;
};
static_assert(layout_is_sound<Sample>());

constexpr Sample sample() {
    Sample s{.crossing = 0x5A5,
             .flag = true,
             .colour = Colour::kRed,
             .lid = Lid{0x1234},
             .nibbles = {1, 2, 3, 4},
             .gid = {},
             .text = "ab",
             .three_bytes = 0xABCDEF,
             .inner = {Inner{7}, Inner{9}},
             .raw = {0xDE, 0xAD}};
    s.gid.bytes[0] = 0xFE;
    s.gid.bytes[15] = 0x01;
    return s;
}

constexpr std::array<std::uint8_t, 40> kSampleBytes = {
    0x16, 0x95, 0xA0, 0x12, 0x34, 0x12, 0x34,  // 000 10110100101 0 1, 101 00000, LID, nibbles
    0xFE, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0x01,  // GID
    'a',  'b',  0,    0,    0xAB, 0xCD, 0xEF,                                // Text, three bytes
    0x00, 0x07, 0x00, 0x09, 0xDE, 0xAD, 0,    0, 0, 0};

/// An attribute in which one field has the place given.
template <std::size_t Bit, std::size_t Width>
struct Misplaced {
    static constexpr std::size_t kBytes = 2;
    std::uint8_t first = 0;
    std::uint8_t second = 0;
    static constexpr auto fields() {
        return Fields{Field{&Misplaced::first, "First", 0, 4},
                      Field{&Misplaced::second, "Second", Bit, Width}};
    }
};
static_assert(layout_is_sound<Misplaced<4, 8>>());
static_assert(!layout_is_sound<Misplaced<3, 4>>(), "on the first");
static_assert(!layout_is_sound<Misplaced<12, 5>>(), "past the end");
static_assert(!layout_is_sound<Misplaced<4, 9>>(), "wider than its member");
static_assert(!layout_is_sound<Misplaced<4, 0>>(), "without bits");

}  // namespace

TEST(Layout, EveryKindOfMemberParses) {
    EXPECT_EQ(parse<Sample>(kSampleBytes), sample());
}

TEST(Layout, EveryKindOfMemberIsEmitted) {
    std::array<std::uint8_t, 40> bytes;
    bytes.fill(0xFF);
    emit(sample(), bytes);
    EXPECT_EQ(bytes, kSampleBytes);
}

TEST(Layout, WorksAtCompileTime) {
    constexpr auto kParsed = parse<Sample>(kSampleBytes);
    static_assert(kParsed.crossing == 0x5A5 && kParsed.three_bytes == 0xABCDEF);
    constexpr auto kEmitted = [] {
        std::array<std::uint8_t, 40> bytes{};
        emit(sample(), bytes);
        return bytes;
    }();
    EXPECT_EQ(kEmitted, kSampleBytes);
}

TEST(Layout, ValueTooWideLosesItsUpperBits) {
    Sample s;
    s.crossing = 0xFFFF;
    std::array<std::uint8_t, 40> bytes;
    emit(s, bytes);
    EXPECT_EQ(bytes[0], 0x1F);
    EXPECT_EQ(bytes[1], 0xFC);
}

TEST(Layout, ReservedBitsAreKnown) {
    constexpr auto kMask = layout_mask<Sample>();
    EXPECT_EQ(kMask[0], 0x1F);
    EXPECT_EQ(kMask[1], 0xFD);
    EXPECT_EQ(kMask[2], 0xE0);
    EXPECT_EQ(kMask[30], 0x00);
    EXPECT_EQ(kMask[31], 0x0F);
    EXPECT_EQ(kMask[39], 0x00);
}

TEST(Layout, Prints) {
    EXPECT_EQ(
        to_string(sample()),
        "Crossing 0x5a5 Flag 1 Colour 5 Lid 4660 Nibbles [1 2 3 4] Gid "
        "fe00:0000:0000:0000:0000:0000:0000:0001 Text \"ab\" ThreeBytes 11259375 Inner [Low 7 "
        "Low 9] Raw dead");
}

TEST(Layout, PrintedTextCannotSteerATerminal) {
    Sample s;
    s.text = "\033[\n";
    EXPECT_NE(to_string(s).find("Text \".[.\""), std::string::npos);
}

TEST(Layout, TextIsCutToItsPlace) {
    EXPECT_EQ(Text<4>("abcdef").view(), "abcd");
    EXPECT_EQ(Text<4>("ab").view(), "ab");
    EXPECT_EQ(Text<4>().view(), "");
    EXPECT_EQ(Text<8>(std::string_view("x")), Text<8>("x"));
}

TEST(LayoutDeathTest, EmittingPastTheEndIsABug) {
    std::vector<std::uint8_t> bytes(39);
    EXPECT_DEATH(emit(sample(), std::span<std::uint8_t>(bytes)), "kBytes");
}

TEST(Components, OnlyThoseInTheMaskAreCompared) {
    PathRecord pattern{.slid = Lid{1}, .sl = 3};
    PathRecord record{.slid = Lid{1}, .sl = 4};
    EXPECT_TRUE(matches(pattern, record, component(&PathRecord::slid)));
    EXPECT_FALSE(matches(pattern, record, component(&PathRecord::sl)));
    EXPECT_FALSE(
        matches(pattern, record, component(&PathRecord::slid) | component(&PathRecord::sl)));
    EXPECT_TRUE(matches(pattern, record, 1 << 7)) << "reserved";
}

TEST(Components, HaveTheNumbersOfTheRecord) {
    EXPECT_EQ(component(&PathRecord::service_id), 0x3U);
    EXPECT_EQ(component(&PathRecord::dgid), 1U << 2);
    EXPECT_EQ(component(&PathRecord::numb_path), 1U << 12);
    EXPECT_EQ(component(&PathRecord::packet_life_time), 1U << 21);
    EXPECT_EQ(component(&NodeRecord::node_info, &NodeInfo::num_ports), 1U << 5);
    EXPECT_EQ(component(&NodeRecord::node_description, &NodeDescription::node_string), 1U << 14);
    EXPECT_EQ(component(&ServiceRecord::service_name), 1U << 6);
}

TEST(Components, SeveralBitsMayNameOneField) {
    const PathRecord pattern{.service_id = 1};
    const PathRecord record{.service_id = 2};
    EXPECT_FALSE(matches(pattern, record, 1 << 0));
    EXPECT_FALSE(matches(pattern, record, 1 << 1));
    EXPECT_TRUE(matches(pattern, record, ~std::uint64_t{3}));
}

TEST(Components, ReachIntoNestedAttributes) {
    NodeRecord pattern;
    pattern.node_info.node_guid = Guid{7};
    NodeRecord record = pattern;
    record.node_info.port_guid = Guid{8};
    record.node_description.node_string = "other";
    EXPECT_TRUE(matches(pattern, record, component(&NodeRecord::node_info, &NodeInfo::node_guid)));
    EXPECT_FALSE(matches(pattern, record, component(&NodeRecord::node_info, &NodeInfo::port_guid)));
    EXPECT_FALSE(matches(pattern, record, 1 << 14));
}

TEST(Components, ElementsOfAnArrayMayHaveTheirOwn) {
    GuidInfoRecord pattern;
    GuidInfoRecord record;
    record.guid_info.guid[3] = Guid{1};
    EXPECT_FALSE(matches(pattern, record, 1 << 7));
    EXPECT_TRUE(matches(pattern, record, 0xFFF & ~(1 << 7)));
    ServiceRecord service;
    service.service_data64[1] = 9;
    EXPECT_FALSE(matches(ServiceRecord{}, service, std::uint64_t{1} << 36));
    EXPECT_TRUE(matches(ServiceRecord{}, service, (std::uint64_t{1} << 36) - 1));
}

}  // namespace softib::wire
