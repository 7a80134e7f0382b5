// SPDX-License-Identifier: BSD-2-Clause
#include "plan/expect/benchmark.h"

#include <algorithm>

namespace softib::plan {

namespace {

constexpr Tool kNccl = Tool::kNcclTests;
constexpr Tool kOsu = Tool::kOsu;
constexpr Tool kPerf = Tool::kPerftest;

constexpr Benchmark kBenchmarks[] = {
    {"all_reduce_perf", kNccl, Work::kOperation, Op::kAllReduce, "AllReduce"},
    {"all_gather_perf", kNccl, Work::kOperation, Op::kAllGather, "AllGather"},
    {"reduce_scatter_perf", kNccl, Work::kOperation, Op::kReduceScatter, "ReduceScatter"},
    {"broadcast_perf", kNccl, Work::kOperation, Op::kBroadcast, "Broadcast"},
    {"reduce_perf", kNccl, Work::kReduce, Op::kBroadcast, "Reduce"},
    {"alltoall_perf", kNccl, Work::kOperation, Op::kAllToAll, "AlltoAll"},
    {"sendrecv_perf", kNccl, Work::kOperation, Op::kSendRecv, "SendRecv"},
    {"gather_perf", kNccl, Work::kGather, Op::kAllGather, "Gather"},
    {"scatter_perf", kNccl, Work::kScatter, Op::kAllGather, "Scatter"},
    {"hypercube_perf", kNccl, Work::kHypercube, Op::kAllGather, "HyperCube"},
    {"ib_write_bw", kPerf, Work::kStream, Op::kSendRecv, "RDMA_Write BW Test"},
    {"ib_read_bw", kPerf, Work::kStream, Op::kSendRecv, "RDMA_Read BW Test"},
    {"ib_send_bw", kPerf, Work::kStream, Op::kSendRecv, "Send BW Test"},
    {"ib_write_bw -b", kPerf, Work::kBothWays, Op::kSendRecv, "RDMA_Write Bidirectional BW Test"},
    {"ib_read_bw -b", kPerf, Work::kBothWays, Op::kSendRecv, "RDMA_Read Bidirectional BW Test"},
    {"ib_send_bw -b", kPerf, Work::kBothWays, Op::kSendRecv, "Send Bidirectional BW Test"},
    {"ib_write_lat", kPerf, Work::kLatency, Op::kSendRecv, "RDMA_Write Latency Test"},
    {"ib_read_lat", kPerf, Work::kLatency, Op::kSendRecv, "RDMA_Read Latency Test", 2},
    {"ib_send_lat", kPerf, Work::kLatency, Op::kSendRecv, "Send Latency Test"},
    {"osu_latency", kOsu, Work::kLatency, Op::kSendRecv, "Latency Test"},
    {"osu_bw", kOsu, Work::kStream, Op::kSendRecv, "Bandwidth Test"},
    {"osu_bibw", kOsu, Work::kBothWays, Op::kSendRecv, "Bi-Directional Bandwidth Test"},
    {"osu_allreduce", kOsu, Work::kOperation, Op::kAllReduce, "Allreduce Latency Test"},
    {"osu_allgather", kOsu, Work::kOperation, Op::kAllGather, "Allgather Latency Test"},
    {"osu_reduce_scatter", kOsu, Work::kOperation, Op::kReduceScatter,
     "Reduce_scatter Latency Test"},
    {"osu_bcast", kOsu, Work::kOperation, Op::kBroadcast, "Broadcast Latency Test"},
    {"osu_reduce", kOsu, Work::kReduce, Op::kBroadcast, "Reduce Latency Test"},
    {"osu_alltoall", kOsu, Work::kOperation, Op::kAllToAll,
     "All-to-All Personalized Exchange Latency Test"},
    {"osu_gather", kOsu, Work::kGather, Op::kAllGather, "Gather Latency Test"},
    {"osu_scatter", kOsu, Work::kScatter, Op::kAllGather, "Scatter Latency Test"},
};

}  // namespace

const char* to_string(Tool tool) {
    return tool == Tool::kNcclTests ? "nccl-tests" : tool == Tool::kOsu ? "osu" : "perftest";
}

double Benchmark::bus_factor(std::uint64_t ranks) const {
    return work == Work::kReduce ? 1 : plan::bus_factor(op, ranks);
}

std::span<const Benchmark> benchmarks() {
    return kBenchmarks;
}

const Benchmark* find_benchmark(std::string_view name) {
    const auto* const found = std::ranges::find(kBenchmarks, name, &Benchmark::name);
    return found == std::end(kBenchmarks) ? nullptr : found;
}

}  // namespace softib::plan
