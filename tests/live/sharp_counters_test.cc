// SPDX-License-Identifier: BSD-2-Clause
// PerformanceCounters of a switch's aggregation node, asked for by a MAD: they say the same whether
// members add (the direct path) or the node does, by packets.
#include <gtest/gtest.h>
#include <infiniband/umad.h>
#include <sharp/api/sharp.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/wire/sharp_performance_counters.h"

namespace softib::test {
namespace {

constexpr std::uint8_t kAggregationClass = 0x0B;
constexpr int kServicesQKey = static_cast<int>(0x80010000);
constexpr int kAnswerMs = 10'000;

/// The node of the switch at which the subnet manager is: the only one of this fabric.
class NodeCounters {
  public:
    NodeCounters() {
        umad_init();
        port_ = umad_open_port("mlx5_0", 1);
        agent_ = umad_register(port_, kAggregationClass, wire::kSharpClassVersion, 0, nullptr);
        umad_port_t port{};
        EXPECT_EQ(umad_get_port("mlx5_0", 1, &port), 0);
        lid_ = static_cast<int>(port.sm_lid);
        umad_release_port(&port);
    }
    ~NodeCounters() { umad_close_port(port_); }
    NodeCounters(const NodeCounters&) = delete;
    NodeCounters& operator=(const NodeCounters&) = delete;

    wire::SharpPerformanceCounters read() {
        wire::MadBytes mad{};
        const wire::MadRepr header{
            .mgmt_class = wire::MgmtClass::kSharp,
            .class_version = wire::kSharpClassVersion,
            .method = wire::Method::kGet,
            .transaction_id = ++transaction_,
            .attribute_id = static_cast<std::uint16_t>(wire::SharpAttribute::kPerformanceCounters)};
        header.emit(wire::Mad<std::uint8_t>(mad));
        std::vector<std::uint8_t> room(umad_size() + mad.size());
        std::memcpy(umad_get_mad(room.data()), mad.data(), mad.size());
        umad_set_addr(room.data(), lid_, 1, 0, kServicesQKey);
        int length = static_cast<int>(mad.size());
        EXPECT_EQ(umad_send(port_, agent_, room.data(), length, kAnswerMs, 0), 0);
        EXPECT_GE(umad_recv(port_, room.data(), &length, 2 * kAnswerMs), 0);
        EXPECT_EQ(umad_status(room.data()), 0);
        std::memcpy(mad.data(), umad_get_mad(room.data()), mad.size());
        EXPECT_EQ(wire::Mad<const std::uint8_t>(mad).status(), 0);
        return wire::parse<wire::SharpPerformanceCounters>(
            wire::Sharp<const std::uint8_t>(mad).data());
    }

  private:
    int port_ = -1;
    int agent_ = -1;
    int lid_ = 0;
    std::uint64_t transaction_ = 0;
};

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

    NodeCounters node;
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
