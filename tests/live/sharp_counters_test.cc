// SPDX-License-Identifier: BSD-2-Clause
// PerformanceCounters of a switch's aggregation node, read by a MAD: they are the same on the
// direct path, where members add, and on the packet path, where the node adds.
#include <gtest/gtest.h>
#include <sharp/api/sharp.h>

#include <cstdint>
#include <vector>

#include "sharp_node.h"

namespace softib::test {
namespace {

TEST(SharpCounters, ANodeSendsOnePacketDownForEachFragmentAndChild) {
    sharp_coll_init_spec job{};
    job.job_id = 900;
    job.world_size = 1;
    job.config = sharp_coll_default_config;
    sharp_coll_context* context = nullptr;
    ASSERT_EQ(sharp_coll_init(&job, &context), SHARP_COLL_SUCCESS);
    sharp_coll_comm_init_spec group{};
    group.size = 1;
    sharp_coll_comm* comm = nullptr;
    ASSERT_EQ(sharp_coll_comm_init(context, &group, &comm), SHARP_COLL_SUCCESS);

    AggregationNode node;
    const auto before = node.read();
    std::vector<std::int32_t> data(1024, 7);
    std::vector<std::int32_t> result(1024);
    sharp_coll_reduce_spec spec{};
    spec.sbuf_desc.buffer = {data.data(), data.size() * 4, nullptr};
    spec.rbuf_desc.buffer = {result.data(), result.size() * 4, nullptr};
    spec.dtype = SHARP_DTYPE_INT;
    spec.op = SHARP_OP_SUM;
    spec.length = data.size();
    spec.aggr_mode = SHARP_AGGREGATION_DATAGRAM;
    ASSERT_EQ(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_SUCCESS);
    EXPECT_EQ(node.read().packet_sent - before.packet_sent, 4U) << "of 1 KiB each";
    ASSERT_EQ(sharp_coll_do_barrier(comm), SHARP_COLL_SUCCESS);
    const auto after = node.read();
    EXPECT_EQ(after.packet_sent - before.packet_sent, 5U);
    EXPECT_EQ(after.packet_discard_sharp, before.packet_discard_sharp);

    EXPECT_EQ(sharp_coll_finalize(context), SHARP_COLL_SUCCESS);
    EXPECT_EQ(node.read().packet_sent, after.packet_sent) << "they outlive the job";
}

}  // namespace
}  // namespace softib::test
