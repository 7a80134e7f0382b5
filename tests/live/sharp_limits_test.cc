// SPDX-License-Identifier: BSD-2-Clause
// What libsharp_coll returns when a quota, the trees of a switch or a port's lock are used up, and
// that these resources are freed again. Jobs have one member here, which need not agree with
// others.
#include <gtest/gtest.h>
#include <sharp/api/sharp.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace softib::test {
namespace {

int open_job(std::uint64_t id, sharp_coll_context*& context) {
    sharp_coll_init_spec spec{};
    spec.job_id = id;
    spec.world_size = 1;
    spec.config = sharp_coll_default_config;
    spec.config.flags = SHARP_COLL_HIDE_ERRORS;
    return sharp_coll_init(&spec, &context);
}

int open_group(sharp_coll_context* context, sharp_coll_comm*& comm) {
    sharp_coll_comm_init_spec spec{};
    spec.size = 1;
    return sharp_coll_comm_init(context, &spec, &comm);
}

int all_reduce(sharp_coll_comm* comm, sharp_aggregation_mode mode) {
    std::vector<std::int32_t> data(1024, 7);
    std::vector<std::int32_t> result(1024);
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc.buffer.ptr = data.data();
    spec.sbuf_desc.buffer.length = data.size() * 4;
    spec.rbuf_desc.buffer.ptr = result.data();
    spec.rbuf_desc.buffer.length = result.size() * 4;
    spec.dtype = SHARP_DTYPE_INT;
    spec.op = SHARP_OP_SUM;
    spec.length = data.size();
    spec.aggr_mode = mode;
    const int error = sharp_coll_do_allreduce(comm, &spec);
    if (error == SHARP_COLL_SUCCESS) {
        EXPECT_EQ(result, data);
    }
    return error;
}

/// A job of one member, with one group.
class LimitedJob {
  public:
    explicit LimitedJob(std::uint64_t id) {
        EXPECT_EQ(open_job(id, context_), SHARP_COLL_SUCCESS);
        EXPECT_EQ(open_group(context_, comm_), SHARP_COLL_SUCCESS);
    }
    ~LimitedJob() { EXPECT_EQ(sharp_coll_finalize(context_), SHARP_COLL_SUCCESS); }
    LimitedJob(const LimitedJob&) = delete;
    LimitedJob& operator=(const LimitedJob&) = delete;

    sharp_coll_context* context() const { return context_; }
    sharp_coll_comm* comm() const { return comm_; }

  private:
    sharp_coll_context* context_ = nullptr;
    sharp_coll_comm* comm_ = nullptr;
};

class SharpLimits : public testing::Test {
  protected:
    void SetUp() override {
        sharp_coll_context* context = nullptr;
        const int error = open_job(1, context);
        if (error == SHARP_COLL_ENOT_SUPP) {
            GTEST_SKIP() << "this path has no aggregation";
        }
        ASSERT_EQ(error, SHARP_COLL_SUCCESS);
        sharp_coll_finalize(context);
    }
    void TearDown() override {
        unsetenv("SHARP_COLL_JOB_QUOTA_OSTS");
        unsetenv("SHARP_COLL_JOB_QUOTA_MAX_GROUPS");
    }
};

TEST_F(SharpLimits, AQuotaThatNoSwitchHasIsRefused) {
    setenv("SHARP_COLL_JOB_QUOTA_OSTS", "100000", 1);
    sharp_coll_context* context = nullptr;
    EXPECT_EQ(open_job(2, context), SHARP_COLL_EQUOTA);
    EXPECT_EQ(context, nullptr);
}

TEST_F(SharpLimits, AJobHasAsManyGroupsAsItsQuotaSays) {
    setenv("SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "1", 1);
    const LimitedJob job(3);
    sharp_coll_comm* second = nullptr;
    EXPECT_EQ(open_group(job.context(), second), SHARP_COLL_EQUOTA);
    EXPECT_EQ(all_reduce(job.comm(), SHARP_AGGREGATION_NONE), SHARP_COLL_SUCCESS);
    ASSERT_EQ(sharp_coll_comm_destroy(job.comm()), SHARP_COLL_SUCCESS);
    EXPECT_EQ(open_group(job.context(), second), SHARP_COLL_SUCCESS);
    EXPECT_EQ(all_reduce(second, SHARP_AGGREGATION_NONE), SHARP_COLL_SUCCESS);
}

TEST_F(SharpLimits, JobsBeyondTheTreesOfASwitchAreRefusedUntilOneEnds) {
    constexpr int kMany = 1000;
    std::vector<sharp_coll_context*> jobs;
    int error = SHARP_COLL_SUCCESS;
    while (error == SHARP_COLL_SUCCESS && jobs.size() < kMany) {
        sharp_coll_context* context = nullptr;
        error = open_job(100 + jobs.size(), context);
        if (error == SHARP_COLL_SUCCESS) {
            jobs.push_back(context);
        }
    }
    EXPECT_EQ(error, SHARP_COLL_ENO_RESOURCE) << "after " << jobs.size() << " jobs";
    ASSERT_FALSE(jobs.empty());
    EXPECT_EQ(sharp_coll_finalize(jobs.back()), SHARP_COLL_SUCCESS);
    EXPECT_EQ(open_job(99, jobs.back()), SHARP_COLL_SUCCESS);
    for (sharp_coll_context* const context : jobs) {
        EXPECT_EQ(sharp_coll_finalize(context), SHARP_COLL_SUCCESS);
    }
}

TEST_F(SharpLimits, OneJobAtATimeStreamsThroughAPort) {
    auto first = std::make_unique<LimitedJob>(4);
    const LimitedJob second(5);
    EXPECT_EQ(all_reduce(first->comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_SUCCESS);
    EXPECT_EQ(all_reduce(second.comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_ELOCK_FAILED);
    EXPECT_EQ(all_reduce(second.comm(), SHARP_AGGREGATION_DATAGRAM), SHARP_COLL_SUCCESS)
        << "datagrams need no lock";
    EXPECT_EQ(all_reduce(first->comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_SUCCESS);
    first.reset();
    EXPECT_EQ(all_reduce(second.comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_SUCCESS)
        << "the lock is back";
}

// A stream must not reach a switch before the lock does, however soon it follows.
TEST_F(SharpLimits, TheLockOfAJobThatEndsIsTheNextOnesAtOnce) {
    constexpr std::uint64_t kJobs = 200;
    auto holder = std::make_unique<LimitedJob>(10);
    ASSERT_EQ(all_reduce(holder->comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_SUCCESS);
    for (std::uint64_t id = 11; id < 11 + kJobs; ++id) {
        auto next = std::make_unique<LimitedJob>(id);
        ASSERT_EQ(all_reduce(next->comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_ELOCK_FAILED);
        holder.reset();
        ASSERT_EQ(all_reduce(next->comm(), SHARP_AGGREGATION_STREAMING), SHARP_COLL_SUCCESS)
            << "after " << id - 11 << " jobs";
        holder = std::move(next);
    }
}

}  // namespace
}  // namespace softib::test
