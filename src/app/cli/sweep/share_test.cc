// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/share.h"

#include <gtest/gtest.h>

#include <map>

namespace softib::app::sweep {
namespace {

std::expected<Share, std::string> found(const std::string& part,
                                        const std::map<std::string, std::string>& environment) {
    return find_share(part, [&](const char* name) -> const char* {
        const auto at = environment.find(name);
        return at == environment.end() ? nullptr : at->second.c_str();
    });
}

void expect_share(const std::expected<Share, std::string>& share, std::uint32_t index,
                  std::uint32_t count) {
    ASSERT_TRUE(share) << share.error();
    EXPECT_EQ(share->index, index);
    EXPECT_EQ(share->count, count);
}

TEST(SweepShare, AProcessAloneHasAll) {
    expect_share(found("", {}), 0, 1);
    EXPECT_FALSE(found("", {})->launched);
}

TEST(SweepShare, ThePartThatTheUserSays) {
    expect_share(found("2/8", {}), 1, 8);
    for (const char* part : {"0/8", "9/8", "2", "2/", "/8", "a/b", "-1/8"}) {
        const auto share = found(part, {});
        ASSERT_FALSE(share) << part;
        EXPECT_EQ(share.error(),
                  std::string("--part must be as 2/8, from 1/8 to 8/8, not \"") + part + "\"");
    }
}

TEST(SweepShare, TheRankOfAnMpirun) {
    expect_share(found("", {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), 3, 4);
    expect_share(found("", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), 0, 2);
    EXPECT_TRUE(found("", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})->launched);
}

TEST(SweepShare, ATaskOfAnArray) {
    expect_share(found("", {{"SLURM_ARRAY_TASK_ID", "7"},
                            {"SLURM_ARRAY_TASK_MIN", "1"},
                            {"SLURM_ARRAY_TASK_MAX", "9"},
                            {"SLURM_ARRAY_TASK_STEP", "2"}}),
                 3, 5);
    expect_share(found("", {{"SGE_TASK_ID", "2"}, {"SGE_TASK_FIRST", "1"}, {"SGE_TASK_LAST", "3"}}),
                 1, 3);
    expect_share(found("", {{"SGE_TASK_ID", "undefined"}}), 0, 1);
}

TEST(SweepShare, AnArrayOfJobsIsTheProduct) {
    expect_share(found("", {{"SLURM_ARRAY_TASK_ID", "1"},
                            {"SLURM_ARRAY_TASK_MIN", "0"},
                            {"SLURM_ARRAY_TASK_MAX", "2"},
                            {"SLURM_PROCID", "1"},
                            {"SLURM_STEP_NUM_TASKS", "2"}}),
                 3, 6);
}

TEST(SweepShare, ABatchScriptOfSlurmHasAll) {
    expect_share(found("", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), 0, 1);
}

TEST(SweepShare, AnArrayWithoutACountAsksForThePart) {
    const auto share = found("", {{"PBS_ARRAY_INDEX", "3"}});
    ASSERT_FALSE(share);
    EXPECT_EQ(share.error(),
              "PBS_ARRAY_INDEX is set, but not how many tasks the array has: give --part "
              "$PBS_ARRAY_INDEX/N");
    expect_share(found("3/4", {{"PBS_ARRAY_INDEX", "3"}}), 2, 4);
}

}  // namespace
}  // namespace softib::app::sweep
