// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/sharp/turns.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

namespace softib::sharp {
namespace {

/// A group whose members are in one process, and do their steps when the test calls for them.
class TurnsTest : public testing::Test {
  protected:
    static constexpr std::uint32_t kMembers = 3;

    void SetUp() override {
        const SlotLayout layout(kMembers);
        const std::uint64_t slots_off = 3 * 4096;
        const std::uint64_t total = slots_off + kSlots * layout.bytes();
        file_ = memfd_create("turns", MFD_CLOEXEC);
        ASSERT_EQ(ftruncate(file_, static_cast<off_t>(total)), 0);
        void* const at = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        ASSERT_NE(at, MAP_FAILED);
        base_ = static_cast<std::byte*>(at);
        bytes_ = total;
        header_ = static_cast<GroupHeader*>(at);
        header_->magic = kGroupMagic;
        header_->version = kGroupVersion;
        header_->members = kMembers;
        header_->steps = kMembers;
        header_->ost_payload_bytes = 1024;
        header_->mtu_bytes = 4096;
        header_->steps_off = 4096;
        header_->counts_off = 8192;
        header_->slots_off = slots_off;
        header_->total_bytes = total;
        auto* const steps = reinterpret_cast<sharp::Step*>(base_ + 4096);
        for (std::uint32_t m = 0; m < kMembers; ++m) {
            steps[m] = {m == 0 ? sharp::Step::kPush : sharp::Step::kAdd, m};
        }
        for (std::uint32_t m = 0; m < kMembers; ++m) {
            auto mapped = Turns::map(file_, m);
            ASSERT_TRUE(mapped);
            members_.push_back(std::move(*mapped));
        }
    }
    void TearDown() override {
        members_.clear();
        munmap(base_, bytes_);
        close(file_);
    }

    static Turn sum_of(std::uint32_t count) {
        Turn turn;
        turn.bytes = count * 4;
        turn.reduces = true;
        turn.reduction = {sharp::DataType::kU32, sharp::ReduceOp::kSum};
        turn.in_bytes = turn.bytes;
        turn.out_bytes = turn.bytes;
        turn.all_up = turn.sent = {1, 10};
        return turn;
    }

    const MemberLine* lines() const {
        return reinterpret_cast<const MemberLine*>(base_ + header_->counts_off);
    }
    std::uint64_t counted_for_all() const {
        std::uint64_t packets = 0;
        for (std::uint32_t m = 0; m < kMembers; ++m) {
            packets += lines()[m].all_up.packets.load();
        }
        return packets;
    }

    int file_ = -1;
    std::byte* base_ = nullptr;
    std::uint64_t bytes_ = 0;
    GroupHeader* header_ = nullptr;
    std::vector<Turns> members_;
};

TEST_F(TurnsTest, NobodyLeavesBeforeAllHaveCome) {
    std::uint32_t value = 5;
    std::uint32_t result = 0;
    const Turn turn = sum_of(1);
    EXPECT_TRUE(members_[0].enter(0, turn, {&value, 4}));
    EXPECT_FALSE(members_[0].leave(0, turn, {&result, 4}));
    EXPECT_TRUE(members_[2].enter(0, turn, {&value, 4}));
    EXPECT_FALSE(members_[0].leave(0, turn, {&result, 4}));
    EXPECT_TRUE(members_[1].enter(0, turn, {&value, 4}));
    EXPECT_TRUE(members_[0].leave(0, turn, {&result, 4}));
    EXPECT_EQ(result, 15U);
}

TEST_F(TurnsTest, ASlotIsFreeWhenTheLastHasLeft) {
    std::uint32_t value = 1;
    std::uint32_t result = 0;
    const Turn turn = sum_of(1);
    for (Turns& member : members_) {
        ASSERT_TRUE(member.enter(0, turn, {&value, 4}));
    }
    for (Turns& member : members_) {
        EXPECT_FALSE(members_[0].enter(kSlots, turn, {&value, 4}));
        ASSERT_TRUE(member.leave(0, turn, {&result, 4}));
    }
    EXPECT_TRUE(members_[0].enter(kSlots, turn, {&value, 4}));
}

TEST_F(TurnsTest, AWholeWindowIsReducedInChunksByWhoeverWaits) {
    constexpr std::uint32_t kCount = kWindowBytes / 4;
    std::vector<std::uint32_t> in(kCount);
    const Turn turn = sum_of(kCount);
    for (std::uint32_t m = 0; m < kMembers; ++m) {
        for (std::uint32_t i = 0; i < kCount; ++i) {
            in[i] = m * 7 + i;
        }
        ASSERT_TRUE(members_[m].enter(3, turn, {in.data(), turn.bytes}));
    }
    for (Turns& member : members_) {
        std::vector<std::uint32_t> out(kCount);
        ASSERT_TRUE(member.leave(3, turn, {out.data(), turn.bytes}));
        for (std::uint32_t i = 0; i < kCount; ++i) {
            ASSERT_EQ(out[i], 3 * i + 21);
        }
    }
}

TEST_F(TurnsTest, MembersThatDoDifferentThingsAllFail) {
    std::uint32_t value = 1;
    Turn turn = sum_of(1);
    members_[0].enter(0, turn, {&value, 4});
    turn.signature = 99;
    members_[1].enter(0, turn, {&value, 4});
    EXPECT_FALSE(members_[1].leave(0, turn, {&value, 4}));
    EXPECT_EQ(members_[2].error(), sharp::Error::kInvalid);
}

TEST_F(TurnsTest, ATurnIsCountedOnceForTheTreeAndOnceForEachMember) {
    std::uint32_t value = 1;
    const Turn turn = sum_of(1);
    for (Turns& member : members_) {
        member.enter(0, turn, {&value, 4});
    }
    EXPECT_EQ(counted_for_all(), 1U);
    for (std::uint32_t m = 0; m < kMembers; ++m) {
        EXPECT_EQ(lines()[m].sent.words.load(), 10U);
    }
    const Turn large = sum_of(kSmallBytes);
    std::vector<std::uint32_t> values(kSmallBytes);
    for (Turns& member : members_) {
        member.enter(1, large, {values.data(), large.bytes});
    }
    EXPECT_EQ(counted_for_all(), 2U);
}

TEST_F(TurnsTest, MembersOfWhichOneHasASmallVectorAndOthersALargeOneAllFail) {
    std::vector<std::uint32_t> values(kSmallBytes);
    for (std::uint32_t small = 0; small < kMembers; ++small) {
        header_->error.store(0);
        for (std::uint32_t m = 0; m < kMembers; ++m) {
            Turn turn = sum_of(m == small ? 1 : kSmallBytes);
            turn.signature = turn.bytes;
            ASSERT_TRUE(members_[m].enter(small, turn, {values.data(), turn.bytes}));
        }
        Turn turn = sum_of(1);
        turn.signature = turn.bytes;
        EXPECT_FALSE(members_[small].leave(small, turn, {values.data(), 4}));
        for (const Turns& member : members_) {
            EXPECT_EQ(member.error(), sharp::Error::kInvalid);
        }
    }
}

TEST_F(TurnsTest, EachGivesItsPartOfASmallVectorAndNobodyWritesBehindIt) {
    std::uint32_t given[kMembers] = {7, 8, 9};
    std::uint32_t result[kMembers]{};
    Turn turn;
    turn.bytes = sizeof given;
    turn.in_bytes = 4;
    turn.out_bytes = turn.bytes;
    for (std::uint32_t m = 0; m < kMembers; ++m) {
        turn.in_at = turn.in_offset = m * 4;
        ASSERT_TRUE(members_[m].enter(0, turn, {given, sizeof given}));
    }
    for (Turns& member : members_) {
        ASSERT_TRUE(member.leave(0, turn, {result, sizeof result}));
        EXPECT_TRUE(std::ranges::equal(result, given));
    }
    for (std::uint32_t m = 0; m < kMembers; ++m) {
        turn.in_offset = m == 1 ? UINT32_MAX : 0;
        members_[m].enter(1, turn, {given, sizeof given});
    }
    EXPECT_FALSE(members_[0].leave(1, turn, {result, sizeof result}));
    EXPECT_EQ(members_[0].error(), sharp::Error::kInvalid);
}

TEST_F(TurnsTest, SlotsThatAreLeftInAnotherOrderAreFreeInTheirOwn) {
    std::uint32_t value = 1;
    std::uint32_t result = 0;
    const Turn turn = sum_of(1);
    for (Turns& member : members_) {
        for (std::uint64_t number = 0; number < kSlots; ++number) {
            ASSERT_TRUE(member.enter(number, turn, {&value, 4}));
        }
        EXPECT_FALSE(member.enter(kSlots, turn, {&value, 4}));
    }
    for (Turns& member : members_) {
        ASSERT_TRUE(member.leave(1, turn, {&result, 4}));
    }
    EXPECT_FALSE(members_[0].enter(kSlots, turn, {&value, 4})) << "turn 0 has it";
    for (Turns& member : members_) {
        ASSERT_TRUE(member.leave(0, turn, {&result, 4}));
    }
    EXPECT_TRUE(members_[0].enter(kSlots, turn, {&value, 4}));
    EXPECT_TRUE(members_[0].enter(kSlots + 1, turn, {&value, 4}));
    EXPECT_FALSE(members_[0].enter(kSlots + 2, turn, {&value, 4}));
}

// Vectors of all sizes follow each other through the same slots, and each member is a thread.
TEST_F(TurnsTest, MembersThatRunAtTheSameTimeGetTheSumOfTheirTurn) {
    constexpr std::uint64_t kTurns = 2000;
    constexpr std::uint32_t kCounts[] = {1, 26, 27, 256, 257, 1, 3000, 0};
    const auto live = [&](std::uint32_t rank) {
        std::vector<std::uint32_t> data(3000);
        for (std::uint64_t number = 0; number < kTurns; ++number) {
            const Turn turn = sum_of(kCounts[number % std::size(kCounts)]);
            std::ranges::fill(data, static_cast<std::uint32_t>(number) + rank);
            const PieceList piece(data.data(), turn.bytes);
            while (!members_[rank].enter(number, turn, piece)) {
                std::this_thread::yield();
            }
            while (!members_[rank].leave(number, turn, piece)) {
                std::this_thread::yield();
            }
            const auto sum = static_cast<std::uint32_t>(3 * number + 3);
            ASSERT_EQ(std::ranges::count(data, sum), turn.bytes / 4) << number;
        }
    };
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < kMembers; ++rank) {
        threads.emplace_back(live, rank);
    }
}

TEST_F(TurnsTest, PiecesAreOneVector) {
    std::uint32_t a = 1;
    std::uint32_t b[2] = {2, 3};
    PieceList pieces(&a, 4);
    pieces.add(b, 8);
    EXPECT_EQ(pieces.bytes(), 12U);
    std::uint32_t got[2]{};
    pieces.copy_out(4, 8, reinterpret_cast<std::byte*>(got));
    EXPECT_EQ(got[1], 3U);
    const std::uint32_t other[3] = {7, 8, 9};
    pieces.copy_in(0, 12, reinterpret_cast<const std::byte*>(other));
    EXPECT_EQ(a, 7U);
    EXPECT_EQ(b[1], 9U);
}

TEST_F(TurnsTest, WhatIsNoGroupIsNotMapped) {
    EXPECT_FALSE(Turns::map(file_, kMembers)) << "no such member";
    header_->slots_off = 1ULL << 40;
    EXPECT_FALSE(Turns::map(file_, 0));
    header_->slots_off = 3 * 4096;
    header_->magic = 0;
    EXPECT_FALSE(Turns::map(file_, 0));
    EXPECT_FALSE(Turns::map(-1, 0));
}

}  // namespace
}  // namespace softib::sharp
