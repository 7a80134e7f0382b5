// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/copy_team.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

namespace softib::direct {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// Returns a team that is never freed, because its threads never end.
CopyTeam& team_of(std::uint32_t helpers) {
    auto* team = new CopyTeam;
    team->set_helpers(helpers);
    return *team;
}

TEST(CopyTeam, CopiesEveryByteOnce) {
    CopyTeam& team = team_of(2);
    const std::uint64_t sizes[] = {0,
                                   1,
                                   CopyTeam::kBytesMin - 1,
                                   CopyTeam::kBytesMin,
                                   CopyTeam::kBytesMin + 1,
                                   kMiB,
                                   3 * kMiB + 17};
    for (const std::uint64_t bytes : sizes) {
        for (int round = 0; round < 50; ++round) {
            std::vector<unsigned char> times(bytes);
            EXPECT_EQ(team.run(bytes,
                               [&](std::uint64_t begin, std::uint64_t end) {
                                   for (std::uint64_t i = begin; i < end; ++i) {
                                       ++times[i];
                                   }
                                   return 0;
                               }),
                      0);
            ASSERT_EQ(times, std::vector<unsigned char>(bytes, 1)) << bytes;
        }
    }
}

TEST(CopyTeam, HelpersTakePieces) {
    CopyTeam& team = team_of(1);
    std::atomic<bool> helped{false};
    const auto asker = std::this_thread::get_id();
    // Hangs if no helper takes a piece.
    team.run(kMiB, [&](std::uint64_t, std::uint64_t) {
        if (std::this_thread::get_id() != asker) {
            helped = true;
        }
        while (!helped) {
            std::this_thread::yield();
        }
        return 0;
    });
    EXPECT_TRUE(helped);
}

TEST(CopyTeam, LastBytesComeLast) {
    CopyTeam& team = team_of(3);
    for (int round = 0; round < 200; ++round) {
        std::atomic<std::uint64_t> copied{0};
        std::uint64_t before_last = 0;
        team.run(kMiB, [&](std::uint64_t begin, std::uint64_t end) {
            if (end == kMiB) {
                before_last = copied;
                EXPECT_EQ(begin, before_last);
            }
            copied += end - begin;
            return 0;
        });
        ASSERT_EQ(copied, kMiB);
        ASSERT_NE(before_last, 0U);
    }
}

TEST(CopyTeam, ReturnsTheErrorOfAPiece) {
    CopyTeam& team = team_of(2);
    for (const std::uint64_t bad : {std::uint64_t{0}, kMiB / 2, kMiB - 1}) {
        EXPECT_EQ(team.run(kMiB,
                           [&](std::uint64_t begin, std::uint64_t end) {
                               return begin <= bad && bad < end ? EFAULT : 0;
                           }),
                  EFAULT);
    }
    EXPECT_EQ(team.run(kMiB, [](std::uint64_t, std::uint64_t) { return 0; }), 0);
}

TEST(CopyTeam, SecondAskerCopiesAlone) {
    CopyTeam& team = team_of(1);
    std::atomic<bool> asked{false};
    team.run(kMiB, [&](std::uint64_t, std::uint64_t) {
        if (!asked.exchange(true)) {
            std::thread([&] {
                std::vector<std::uint64_t> ends;
                team.run(kMiB, [&](std::uint64_t, std::uint64_t end) {
                    ends.push_back(end);
                    return 0;
                });
                EXPECT_EQ(ends, std::vector<std::uint64_t>{kMiB});
            }).join();
        }
        return 0;
    });
    EXPECT_TRUE(asked);
}

TEST(CopyTeam, LeavesCoresToOthers) {
    EXPECT_EQ(CopyTeam::helpers_for(1, 1), 0U);
    EXPECT_EQ(CopyTeam::helpers_for(2, 1), 0U);
    EXPECT_EQ(CopyTeam::helpers_for(16, 2), CopyTeam::kHelpersMax);
    EXPECT_EQ(CopyTeam::helpers_for(16, 4), 2U);
    EXPECT_EQ(CopyTeam::helpers_for(16, 8), 0U);
    EXPECT_EQ(CopyTeam::helpers_for(16, 0), CopyTeam::kHelpersMax);
}

}  // namespace
}  // namespace softib::direct
