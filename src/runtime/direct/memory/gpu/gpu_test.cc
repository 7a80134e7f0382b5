// SPDX-License-Identifier: BSD-2-Clause
// Tests what peers are told of GPU memory, what they map, and when they unmap it, with the driver
// for tests.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "runtime/direct/memory/gpu/exports.h"
#include "runtime/direct/memory/gpu/mapper.h"
#include "runtime/direct/memory/gpu/test_driver.h"
#include "runtime/shm/reclaim.h"
#include "runtime/shm/test_arena.h"

namespace softib::direct::gpu {
namespace {

constexpr std::uint64_t kBytes = 64 * 1024;
constexpr shm::Owner kPeer = 7;
constexpr std::uint32_t kRegion = 5;

struct Gpu : testing::Test {
    Gpu() { test::open_own_handles(true); }
    ~Gpu() override {
        for (const Address at : made) {
            test::free(at);
        }
        test::set_device(1);
        test::stick(false);
    }
    Address keep(Address at) {
        made.push_back(at);
        return at;
    }
    std::vector<shm::PeerPiece> added(Address at, std::uint64_t length, int expected = 0) {
        std::vector<shm::PeerPiece> pieces;
        EXPECT_EQ(exports.add(at, length, pieces), expected);
        return pieces;
    }

    Engine engine{*test::driver()};
    Exports exports{engine};
    std::vector<Address> made;
};

TEST_F(Gpu, CopiesInAThreadWithoutAContextAndIsDoneOnReturn) {
    const Address a = keep(test::allocate(kBytes));
    const Address b = keep(test::allocate_mapped(kBytes));
    const std::vector<char> sent(kBytes, 'x');
    std::vector<char> got(kBytes);
    std::thread([&] {
        Context context = engine.context_of(0);
        EXPECT_TRUE(engine.copy(context, a, reinterpret_cast<Address>(sent.data()), kBytes));
        EXPECT_TRUE(engine.copy(context, b, a, kBytes));
        EXPECT_TRUE(engine.copy(context, reinterpret_cast<Address>(got.data()), b, kBytes));
    }).join();
    EXPECT_EQ(got, sent);
}

TEST_F(Gpu, LeavesTheThreadAsItWas) {
    int mode = 1;
    test::driver()->capture_mode(&mode);
    const Address a = keep(test::allocate(kBytes));
    EXPECT_TRUE(engine.copy(engine.context_of(0), a, a + 4096, 4096));
    Context left = nullptr;
    EXPECT_NE(test::driver()->context_pop(&left), kOk);
    test::driver()->capture_mode(&mode);
    EXPECT_EQ(mode, 1);
}

TEST_F(Gpu, OneThreadNeedsOneStream) {
    const Address a = keep(test::allocate(kBytes));
    const std::uint64_t before = test::counts().streams;
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(engine.copy(engine.context_of(0), a, a + 4096, 4096));
    }
    EXPECT_EQ(test::counts().streams, before + 1);
}

TEST_F(Gpu, WhatTheDriverRefusesFails) {
    EXPECT_EQ(engine.context_of(1), nullptr);
    EXPECT_FALSE(engine.copy(nullptr, 0, 0, 1));
}

TEST_F(Gpu, TellsGpuFromHost) {
    char host = 0;
    EXPECT_FALSE(exports.is_gpu(reinterpret_cast<Address>(&host)));
    EXPECT_FALSE(exports.is_gpu(keep(test::allocate_managed(kBytes))));
    EXPECT_TRUE(exports.is_gpu(keep(test::allocate(kBytes)) + kBytes - 1));
    added(reinterpret_cast<Address>(&host), 1, EFAULT);
}

TEST_F(Gpu, EachKindOfMemoryIsSharedInItsWay) {
    const Address plain = keep(test::allocate(kBytes));
    const Address mapped = keep(test::allocate_mapped(kBytes));
    const Address hidden = keep(test::allocate_mapped(kBytes, false));
    EXPECT_EQ(added(plain, kBytes).at(0).kind, shm::PeerPiece::kIpcHandle);
    EXPECT_EQ(added(hidden, kBytes).at(0).kind, shm::PeerPiece::kOwnerOnly);
    const shm::PeerPiece piece = added(mapped + 4096, 100).at(0);
    EXPECT_EQ(piece.kind, shm::PeerPiece::kDescriptor);
    EXPECT_EQ(fcntl(piece.descriptor, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(piece.begin, mapped + 4096);
    EXPECT_EQ(piece.end, mapped + 4196);
    EXPECT_EQ(piece.base, mapped);
    EXPECT_EQ(piece.bytes, kBytes);
}

TEST_F(Gpu, RegionsOfAnAllocationShareItsExport) {
    const Address at = keep(test::allocate_mapped(kBytes));
    const auto first = added(at, 4096);
    const auto second = added(at + 4096, 4096);
    ASSERT_EQ(first.at(0).number, second.at(0).number);
    exports.remove(first);
    EXPECT_NE(fcntl(second[0].descriptor, F_GETFD), -1);
    EXPECT_NE(exports.copier_at(at + 8192), nullptr);
    exports.remove(second);
    EXPECT_EQ(fcntl(second[0].descriptor, F_GETFD), -1);
    EXPECT_EQ(exports.copier_at(at + 8192), nullptr);
    EXPECT_NE(added(at, 4096).at(0).number, second[0].number);
}

TEST_F(Gpu, WholePagesMayReachBeyondTheAllocation) {
    const Address at = keep(test::allocate(5000));
    const auto pieces = added(at - 1024, 1024 + 8192);
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].begin, at);
    EXPECT_EQ(pieces[0].end, at + 5000);
    exports.remove(pieces);
    added(at, 5000 + 2 * 4096 + 512, EFAULT);
    EXPECT_EQ(exports.copier_at(at), nullptr);  // The refused registration leaves no export.
}

struct GpuPeer : Gpu {
    GpuPeer() {
        arena().proc(kPeer).instance = 3;
        arena().proc(kPeer).pid = static_cast<std::uint32_t>(getpid());
        shm::MrShared& mr = arena().mrs[kRegion];
        mr.owner = kPeer;
        mr.key = kRegion << 8 | 1;
        mr.generation = 9;
    }
    const shm::Arena& arena() const { return fabric.arena; }
    shm::PeerPiece piece_of(Address at) {
        shm::PeerPiece piece = added(at, kBytes).at(0);
        piece.region = kRegion;
        piece.generation = 9;
        return piece;
    }
    void deregister() {
        arena().mrs[kRegion].generation.fetch_add(1);
        arena().header->pieces_generation.fetch_add(1);
    }
    std::int64_t mapped_here() const { return test::counts().mappings - before; }

    shm::TestArena fabric;
    std::atomic<std::uint32_t> mapped{0};
    std::int64_t before = test::counts().mappings;
    Engine peer_engine{*test::driver()};
    GpuMapper mapper{peer_engine, fabric.arena};
    Mappings mappings{mapper, fabric.arena, mapped};
};

TEST_F(GpuPeer, MapsOnceAndSeesTheSameBytes) {
    for (const Address at : {keep(test::allocate(kBytes)), keep(test::allocate_mapped(kBytes))}) {
        const shm::PeerPiece piece = piece_of(at);
        test::put(at + 100, "hello", 6);
        char got[6] = {};
        const std::int64_t mapped_before = mapped_here();
        for (int i = 0; i < 3; ++i) {
            const Mappings::Use use = mappings.use(kPeer, piece);
            ASSERT_TRUE(use);
            EXPECT_NE(use->base, at);
            ASSERT_TRUE(peer_engine.copy(use->context, reinterpret_cast<Address>(got),
                                         use->base + 100, sizeof got));
            EXPECT_STREQ(got, "hello");
        }
        EXPECT_EQ(mapped_here(), mapped_before + 1);
    }
    EXPECT_EQ(mapped.load(), 2U);
}

TEST_F(GpuPeer, WaitsForNothingThatTheProgramDoes) {
    for (const Address at : {keep(test::allocate(kBytes)), keep(test::allocate_mapped(kBytes))}) {
        const shm::PeerPiece piece = piece_of(at);
        const Address own = keep(test::allocate(kBytes));
        added(own, kBytes);
        test::put(own, "hello", 6);
        test::stick(true);
        {
            const Mappings::Use use = mappings.use(kPeer, piece);
            ASSERT_TRUE(use);
            EXPECT_TRUE(engine.copy(exports.copier_at(own), use->base, own, 6));
            EXPECT_TRUE(engine.copy(use->context, use->base + 6, use->base, 6));
        }
        deregister();
        mappings.give_up_stale();
        EXPECT_EQ(mapped_here(), 0);
        test::stick(false);
        char got[12] = {};
        test::get(got, at, sizeof got);
        EXPECT_STREQ(got, "hello");
        EXPECT_STREQ(got + 6, "hello");
        arena().mrs[kRegion].generation = 9;
    }
}

TEST_F(GpuPeer, GivesUpWhatIsNoLongerRegistered) {
    const shm::PeerPiece piece = piece_of(keep(test::allocate_mapped(kBytes)));
    static_cast<void>(mappings.use(kPeer, piece));
    mappings.give_up_stale();
    EXPECT_EQ(mapped_here(), 1);
    deregister();
    mappings.give_up_stale();
    EXPECT_EQ(mapped_here(), 0);
    EXPECT_EQ(mapped.load(), 0U);
}

TEST_F(GpuPeer, GivesUpWhatBelongedToTheDead) {
    const shm::PeerPiece piece = piece_of(keep(test::allocate(kBytes)));
    static_cast<void>(mappings.use(kPeer, piece));
    arena().mrs[kRegion].key = 0;
    arena().header->death_generation.fetch_add(1);
    mappings.give_up_stale();
    EXPECT_EQ(mapped_here(), 0);
}

TEST_F(GpuPeer, KeepsWhatIsInUse) {
    const shm::PeerPiece piece = piece_of(keep(test::allocate_mapped(kBytes)));
    {
        const Mappings::Use use = mappings.use(kPeer, piece);
        deregister();
        mappings.give_up_stale();
        EXPECT_EQ(mapped_here(), 1);
    }
    EXPECT_EQ(mapped_here(), 0);
}

TEST_F(GpuPeer, ALookBeforeTheKeysOfTheDeadHaveGoneIsNotTheLast) {
    const shm::PeerPiece piece = piece_of(keep(test::allocate_mapped(kBytes)));
    static_cast<void>(mappings.use(kPeer, piece));
    auto& tiers = arena().proc(kPeer).regions_by_tier;
    tiers[static_cast<std::size_t>(shm::Tier::kGpu)] = 1;
    arena().mr_batches[kRegion / shm::kBatchEntries] = kPeer;
    arena().header->death_generation.fetch_add(1);  // The first thing that reclaim() does.
    mappings.give_up_stale();
    EXPECT_EQ(mapped_here(), 1);
    arena().header->death_generation.fetch_sub(1);
    reclaim(arena(), kPeer);
    mappings.give_up_stale();
    EXPECT_EQ(mapped_here(), 0);
}

TEST_F(GpuPeer, AnotherProcessInTheSameSlotIsAnotherOwner) {
    const shm::PeerPiece piece = piece_of(keep(test::allocate_mapped(kBytes)));
    static_cast<void>(mappings.use(kPeer, piece));
    arena().proc(kPeer).instance = 4;
    static_cast<void>(mappings.use(kPeer, piece));
    EXPECT_EQ(mapped_here(), 1);  // The second use() has given the old mapping up.
}

TEST_F(GpuPeer, WhatCannotBeMappedIsTheOwners) {
    const Address at = keep(test::allocate_mapped(kBytes));
    EXPECT_FALSE(mappings.use(kPeer, piece_of(keep(test::allocate_mapped(kBytes, false)))));
    shm::PeerPiece closed = piece_of(at);
    closed.descriptor = -1;
    EXPECT_FALSE(mappings.use(kPeer, closed));
    shm::PeerPiece elsewhere = piece_of(keep(test::allocate(kBytes)));
    elsewhere.device[0] = 2;
    EXPECT_FALSE(mappings.use(kPeer, elsewhere));
    EXPECT_EQ(mapped_here(), 0);
}

}  // namespace
}  // namespace softib::direct::gpu
