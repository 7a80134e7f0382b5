// SPDX-License-Identifier: BSD-2-Clause
// ATOMIC WRITE, rule by rule (IBA vol. 1, annex A19): eight bytes at once, answered as a READ is.
#include <cstring>

#include "probe.h"

namespace softib::transport {
namespace {

using enum Operation;

constexpr std::uint64_t kThere = 64;

struct AtomicResponder : Probe {
    explicit AtomicResponder(const PairOptions& o = {}) : Probe(o) {
        lose = [](const Flight&) { return true; };
    }
    wire::PacketHeaders write(std::uint32_t psn, std::uint64_t at = kThere) {
        auto h = headers(1, kAtomicWrite, psn);
        h.reth = {.va = ends[1].addr(at), .r_key = ends[1].key, .dma_len = 8};
        return h;
    }
    void take(const wire::PacketHeaders& h, const Bytes& payload) {
        inject(1, h, payload);
        drive();
    }
    /// Returns whether all eight bytes of the word are `value`.
    bool holds(std::uint8_t value, std::uint64_t at = kThere) {
        const std::uint8_t* from = ends[1].at(at);
        return std::all_of(from, from + 8, [&](std::uint8_t byte) { return byte == value; });
    }
};

TEST(AtomicWrite, PlacesItsBytesAndIsAnsweredAsAReadOfNothing) {
    AtomicResponder r;
    r.take(r.write(0), Bytes(8, 7));
    EXPECT_TRUE(r.holds(7));
    ASSERT_EQ(r.sent.size(), 1U);
    EXPECT_EQ(r.operation(r.sent[0]), kReadResponseOnly);
    EXPECT_TRUE(r.sent[0].payload.empty());
    EXPECT_EQ(r.sent[0].headers.aeth.msn, 1U);
}

TEST(AtomicWrite, ADuplicateIsAnsweredAgainAndWritesNothing) {
    AtomicResponder r;
    r.take(r.write(0), Bytes(8, 7));
    std::memset(r.ends[1].at(kThere), 9, 8);
    r.take(r.write(0), Bytes(8, 7));
    EXPECT_TRUE(r.holds(9));
    EXPECT_EQ(r.operations_to(0), (std::vector{kReadResponseOnly, kReadResponseOnly}));
    EXPECT_EQ(r.psns_to(0), (std::vector<std::uint32_t>{0, 0}));
    r.take(r.write(0, kThere + 8), Bytes(8, 7));  // Not the one that was there.
    EXPECT_EQ(r.sent.size(), 2U);
    EXPECT_EQ(r.count(1, Counted::kDuplicateUnknown), 1U);
}

TEST(AtomicWrite, OnlyEightBytesThatAreAligned) {
    const auto refused = [](std::uint64_t at, std::uint32_t dma_len, std::size_t bytes) {
        AtomicResponder r;
        auto h = r.write(0, at);
        h.reth.dma_len = dma_len;
        r.take(h, Bytes(bytes, 7));
        return r.last_syndrome(0) == nak(NakCode::kInvalidRequest) && !r.holds(7, at);
    };
    EXPECT_TRUE(refused(kThere + 4, 8, 8));
    EXPECT_TRUE(refused(kThere, 16, 8));
    EXPECT_TRUE(refused(kThere, 8, 16));
    EXPECT_TRUE(refused(kThere, 8, 4));
}

TEST(AtomicWrite, NeedsTheRightToWrite) {
    AtomicResponder r;
    auto h = r.write(0);
    h.reth.r_key ^= 0x100;
    r.take(h, Bytes(8, 7));
    EXPECT_EQ(r.last_syndrome(0), nak(NakCode::kRemoteAccessError));
    EXPECT_FALSE(r.holds(7));
}

TEST(AtomicWrite, ARequestIsDoneWhenItsResponseHasCome) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kAtomicWrite, kThere, 8));
    p.drive();
    EXPECT_EQ(p.operations_to(1), std::vector{kAtomicWrite});
    EXPECT_EQ(p.sent_to(1)[0].headers.bth.opcode, 0x1D);
    EXPECT_EQ(p.sent_to(1)[0].payload.size(), 8U);
    const Completion done = p.only_completion(0);
    EXPECT_EQ(done.status, WcStatus::kSuccess);
    EXPECT_EQ(done.opcode, WcOpcode::kAtomicWrite);
    EXPECT_TRUE(p.same(0, kThere, 1, kThere, 8));
}

TEST(AtomicWrite, AnotherLengthDoesNotLeave) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kAtomicWrite, kThere, 16));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kLocLenErr);
    EXPECT_TRUE(p.sent_to(1).empty());
}

/// An ATOMIC WRITE takes a resource as READs and atomics do.
TEST(AtomicWrite, NoMoreAreUnderWayThanThePeerHasRoomFor) {
    Probe p;
    std::size_t asked = 0;
    p.lose = [&](const Flight& flight) {
        asked += flight.to == 1 ? 1U : 0U;
        return flight.to == 0;
    };
    const std::size_t room = p.ends[0].hca.query_qp(p.ends[0].qpn)->max_rd_atomic;
    for (std::size_t i = 0; i < room + 3; ++i) {
        p.post(0, p.request(0, WrOpcode::kAtomicWrite, kThere + 8 * i, 8));
    }
    p.drive_while([&] { return asked < room; });
    EXPECT_EQ(p.psns_to(1).size(), room);
    p.lose = nullptr;
    p.drive();
    EXPECT_EQ(p.completions(0).size(), room + 3);
    EXPECT_TRUE(p.same(0, kThere, 1, kThere, static_cast<std::uint32_t>(8 * (room + 3))));
}

TEST(AtomicWrite, TravelsAsBytesAndAgainWhenLost) {
    PairOptions o;
    o.knobs.as_bytes = true;
    Probe p(o);
    int lost = 0;
    p.lose = [&](const Flight& flight) { return flight.to == 0 && lost++ < 2; };
    p.post(0, p.request(0, WrOpcode::kAtomicWrite, kThere, 8));
    p.post(0, p.request(0, WrOpcode::kRead, 4096, 999));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
    EXPECT_TRUE(p.same(0, kThere, 1, kThere, 8));
    EXPECT_TRUE(p.same(0, 4096, 1, 4096, 999));
    EXPECT_GT(p.count(1, Counted::kDuplicate), 0U);
}

}  // namespace
}  // namespace softib::transport
