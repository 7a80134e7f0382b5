// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trace/trace_file.h"

#include <gtest/gtest.h>

#include "plan/trace/expand.h"
#include "spec/trace/file_rank.h"
#include "spec/trace/protobuf.h"

namespace softib::spec {
namespace {

using plan::trace::Collective;
using plan::trace::Job;
using plan::trace::Kind;
using plan::trace::Operation;
using plan::trace::Waits;

std::expected<Job, std::string> parse(std::string file, std::string text,
                                      const TraceOptions& options = {}) {
    const std::vector<TraceText> files{{std::move(file), std::move(text)}};
    return parse_trace(files, options);
}

std::string error_of(std::string file, std::string text) {
    const auto job = parse(std::move(file), std::move(text));
    return job ? "no error" : job.error();
}

TEST(Goal, OperationsLabelsAndCommentsAreRead) {
    const auto job = parse("a.goal", R"(// a pair
num_ranks 2
rank 0 {
  l1: calc 100 cpu 1
  l2 : send 8b to 1 tag 2 cpu 0 nic 0 /* over
                                         lines */
  l2 requires l1
  calc 5
}
rank 1 { l1: recv 8b from -1 tag -1
  l2: calc 7
  l2 irequires l1 }
)");
    ASSERT_TRUE(job) << job.error();
    ASSERT_EQ(job->ranks(), 2U);
    const auto& first = job->program(0).operations();
    ASSERT_EQ(first.size(), 3U);
    EXPECT_EQ(first[0].compute_ps, 100'000U);
    EXPECT_EQ(first[0].lane, 1);
    EXPECT_EQ(first[1].kind, Kind::kSend);
    EXPECT_EQ(first[1].peer, 1U);
    EXPECT_EQ(first[1].tag, 2U);
    EXPECT_EQ(job->program(0).edges()[0].dependency.on, 0U);
    const auto& second = job->program(1);
    EXPECT_EQ(second.operations()[0].peer, plan::trace::kAnyRank);
    EXPECT_EQ(second.operations()[0].tag, plan::trace::kAnyTag);
    EXPECT_EQ(second.edges()[0].dependency.waits, Waits::kForStart);
}

TEST(Goal, ErrorsNameTheLine) {
    EXPECT_EQ(error_of("a.goal", "num_ranks 2\nrank 2 {\n}\n"),
              "a.goal:2: a rank must be a whole number up to 1, not '2'");
    EXPECT_EQ(error_of("a.goal", "num_ranks 2\nrank 0 {\nl1: send 8 to 1\n}"),
              "a.goal:3: send needs its bytes as 8b, not '8'");
    EXPECT_EQ(error_of("a.goal", "num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l2\n}"),
              "a.goal:4: rank 0 has no label 'l2'");
    EXPECT_EQ(error_of("a.goal", "num_ranks 1\nrank 0 {\nl1: calc 1\n"),
              "a.goal:4: the block of rank 0 does not end: '}' is missing");
    EXPECT_EQ(error_of("a.goal", "num_ranks 99999999\n"),
              "a.goal:1: the number of ranks must be a whole number up to 1048576, not '99999999'");
    EXPECT_EQ(error_of("a.goal", "num_ranks 1 rank 0 { a: calc 1 a: calc 2 }"),
              "a.goal:1: label 'a' stands for two operations");
    EXPECT_EQ(
        error_of("a.goal", "num_ranks 1 rank 0 { a: calc 1 b: calc 1 a requires b b requires a }"),
        "a.goal: rank 0: operation 0 (compute 1 ns) depends on itself in a circle");
}

TEST(Goal, WhatIsWrittenIsReadAgain) {
    const std::string text =
        "num_ranks 2\n\nrank 0 {\nl1: calc 3 cpu 2\nl2: send 8b to 1 tag 4\nl2 irequires l1\n}\n\n"
        "rank 1 {\nl1: recv 8b from -1 tag -1\nl2: calc 0\nl2 requires l1\n}\n";
    const auto job = parse("a.goal", text);
    ASSERT_TRUE(job) << job.error();
    EXPECT_EQ(write_goal(*job), text);
}

Job mixed_job() {
    Job job;
    job.name = "mixed";
    job.programs.resize(4);
    job.program_of = {0, 1, 2, 3};
    job.add_world();
    job.add_communicator("pairs", {{0, 1}, {2, 3}});
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        plan::trace::Program& program = job.programs[rank];
        program.add({.name = job.add_name("forward"), .compute_ps = 1'500'000});
        program.add({.kind = Kind::kCollective,
                     .collective = Collective::kAllGather,
                     .communicator = 1,
                     .bytes = 4096});
        program.add({.kind = Kind::kCollective,
                     .collective = Collective::kBroadcast,
                     .peer = 3,
                     .communicator = 0,
                     .bytes = 77});
        program.add({.kind = rank % 2 == 0 ? Kind::kSend : Kind::kRecv,
                     .peer = rank ^ 1,
                     .tag = 9,
                     .bytes = 1234});
        program.depend(1, 0);
        program.depend(2, 1);
        program.depend(3, 0);
    }
    return job;
}

TEST(Chakra, WhatIsWrittenIsReadAgain) {
    const Job job = mixed_job();
    std::vector<TraceText> files;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        files.push_back({"job." + std::to_string(rank) + ".et", write_chakra(job, rank)});
    }
    std::swap(files[0], files[3]);
    const TraceOptions options{.groups = {"groups.json", write_chakra_groups(job)}};
    const auto read = parse_trace(files, options);
    ASSERT_TRUE(read) << read.error();
    ASSERT_EQ(read->ranks(), 4U);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        const auto& ops = read->program(rank).operations();
        ASSERT_EQ(ops.size(), 4U);
        EXPECT_EQ(read->names[ops[0].name], "forward");
        EXPECT_EQ(ops[0].compute_ps, 1'500'000U);
        EXPECT_EQ(ops[1].collective, Collective::kAllGather);
        EXPECT_EQ(ops[1].bytes, 4096U);
        const auto& groups = read->communicators[ops[1].communicator].groups;
        EXPECT_EQ(groups, (std::vector<std::vector<std::uint32_t>>{{rank & 2, (rank & 2) + 1}}));
        EXPECT_EQ(ops[2].peer, 3U);
        EXPECT_EQ(read->communicators[ops[2].communicator].groups[0].size(), 4U);
        EXPECT_EQ(ops[3].kind, rank % 2 == 0 ? Kind::kSend : Kind::kRecv);
        EXPECT_EQ(ops[3].peer, rank ^ 1);
        EXPECT_EQ(ops[3].tag, 9U);
        EXPECT_EQ(read->program(rank).edges().size(), 3U);
    }
}

/// Computations that run side by side still do so after they are written and read again.
TEST(Chakra, ComputationsKeepTheirStreams) {
    Job job;
    job.programs.resize(1);
    job.program_of = {0};
    for (const std::uint8_t lane : std::initializer_list<std::uint8_t>{0, 3, 3, 17}) {
        job.programs[0].add({.lane = lane, .compute_ps = 1000});
    }
    const auto read = parse("job.0.et", write_chakra(job, 0));
    ASSERT_TRUE(read) << read.error();
    const auto& ops = read->program(0).operations();
    EXPECT_EQ(ops[0].lane, 0U);
    EXPECT_EQ(ops[1].lane, ops[2].lane);
    EXPECT_NE(ops[1].lane, ops[0].lane);
    EXPECT_NE(ops[3].lane, ops[1].lane);
}

TEST(Chakra, GroupsThatNothingDescribesAreAskedFor) {
    const Job job = mixed_job();
    std::vector<TraceText> files;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        files.push_back({"job." + std::to_string(rank) + ".et", write_chakra(job, rank)});
    }
    EXPECT_EQ(parse_trace(files, {}).error(),
              "job.0.et: node 1 '': nothing says which ranks process group '1.0' has: give them "
              "with --groups FILE as {\"1.0\": [0, 1]}");
    files[1].file = "job.7.et";
    EXPECT_EQ(parse_trace(files, {}).error(),
              "job.7.et: with 4 files, each name must end in a rank of its own from 0 to 3, as "
              "job.0.et");
}

TEST(Chakra, CutFilesNameTheByte) {
    const std::string whole = write_chakra(mixed_job(), 0);
    EXPECT_EQ(error_of("job.0.et", whole.substr(0, 12)),
              "job.0.et: byte 8: no Chakra node can be read here");
}

/// Nodes of a collective type without comm_type are calls of the framework.
TEST(Chakra, JsonOfTheFeederIsRead) {
    const auto job = parse("small.json", R"({"workload_graph": [
        {"Id": 7, "Name": "call", "NodeType": 7, "ctrlDeps": [3], "data_deps": [], "runtime": 5,
         "is_cpu_op": true},
        {"Id": 9, "Name": "kernel", "NodeType": 7, "ctrlDeps": [], "data_deps": [7],
         "is_cpu_op": false, "comm_type": 7, "comm_size": 100},
        {"id": "10", "name": "p", "type": "COMP_NODE", "dataDeps": ["9"], "durationMicros": "3",
         "attr": [{"name": "is_cpu_op", "boolVal": false}]}]})");
    ASSERT_TRUE(job) << job.error();
    const auto& ops = job->program(0).operations();
    EXPECT_EQ(ops[0].kind, Kind::kCompute);
    EXPECT_EQ(ops[0].lane, 1);
    EXPECT_EQ(ops[0].compute_ps, 5'000'000U);
    EXPECT_EQ(ops[1].collective, Collective::kReduceScatter);
    EXPECT_EQ(ops[1].bytes, 100U);
    EXPECT_EQ(ops[2].compute_ps, 3'000'000U);
    EXPECT_EQ(job->program(0).edges().size(), 2U);
    EXPECT_EQ(error_of("a.json", "{\"workload_graph\": [ 1 ]}"),
              "a.json: node 0 of the list is no object");
    EXPECT_EQ(error_of("a.json", "{\"workload_graph\": [}"), "a.json: byte 21: this is no JSON");
    EXPECT_EQ(error_of("a.json", "[1.5E5277]"),
              "a.json: a number does not fit 64 bits or a double");
}

TEST(Chakra, ACircleOfControlLeavesData) {
    const auto job = parse("a.json", R"([{"id": 1, "type": 4, "ctrl_deps": [2]},
                                         {"id": 2, "type": 4, "data_deps": [1]}])");
    ASSERT_TRUE(job) << job.error();
    ASSERT_EQ(job->program(0).edges().size(), 1U);
    EXPECT_EQ(job->program(0).edges()[0].operation, 1U);
    EXPECT_EQ(job->notes.size(), 1U);
    EXPECT_TRUE(error_of("a.json", R"({"schema": "1.0.2-chakra.0.0.4", "nodes": []})")
                    .starts_with("a.json: this is PyTorch's execution trace"));
}

TEST(Chakra, ComputationsWithoutADurationFollowTheRoofline) {
    const std::string text = R"([{"id": 1, "type": 4, "num_ops": 1000000, "tensor_size": 10},
                                 {"id": 2, "type": 4, "num_ops": 10, "tensor_size": 1000000}])";
    const auto job = parse("a.json", text, {.flops_per_s = 1e9, .memory_bytes_per_s = 1e12});
    ASSERT_TRUE(job) << job.error();
    EXPECT_EQ(job->program(0).operations()[0].compute_ps, 1'000'000'000U);
    EXPECT_EQ(job->program(0).operations()[1].compute_ps, 1'000'000U);
}

constexpr const char* kSimai =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 1 vpp: 1 ga: 1 "
    "all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0\n"
    "2\n"
    "first\t-1 100 ALLREDUCE 64 \t10 NONE 0 20 ALLGATHER 128 5\n"
    "second -1 200 ALLTOALL_EP 32 30 REDUCESCATTER 16 40 REDUCESCATTER_DP_EP 8 5\n";

TEST(SimAi, LayersGoForwardsAndBackwards) {
    const auto job = parse("w.txt", kSimai);
    ASSERT_TRUE(job) << job.error();
    EXPECT_EQ(job->ranks(), 8U);
    EXPECT_EQ(job->programs.size(), 1U);
    std::vector<std::string> order;
    for (const Operation& op : job->program(0).operations()) {
        if (op.kind == Kind::kCollective) {
            order.push_back(std::string(to_string(op.collective)) + " " +
                            job->communicators[op.communicator].name);
        }
    }
    EXPECT_EQ(order, (std::vector<std::string>{"all-reduce tensor", "all-to-all expert",
                                               "reduce-scatter tensor",
                                               "reduce-scatter expert-data", "all-gather data"}));
    EXPECT_EQ(job->communicators[0].groups[1], (std::vector<std::uint32_t>{2, 3}));
    EXPECT_EQ(job->communicators[1].groups[1], (std::vector<std::uint32_t>{1, 3, 5, 7}));
    EXPECT_EQ(job->communicators[2].groups[1], (std::vector<std::uint32_t>{4, 5, 6, 7}));
    EXPECT_EQ(job->communicators[3].groups[1], (std::vector<std::uint32_t>{1, 5}));
}

TEST(SimAi, ErrorsNameTheLine) {
    std::string text = kSimai;
    text.replace(text.find("ALLTOALL"), 8, "ALLTOAL ");
    EXPECT_EQ(error_of("w.txt", text), "w.txt:4: a layer has 12 columns, not 13");
    text = kSimai;
    text.replace(text.find("ALLTOALL_EP"), 11, "ALLTOAL");
    EXPECT_EQ(error_of("w.txt", text),
              "w.txt:4: unknown exchange 'ALLTOAL'; did you mean 'ALLTOALL'?");
    text = kSimai;
    text.replace(text.find("all_gpus: 8"), 11, "all_gpus: 7");
    EXPECT_TRUE(error_of("w.txt", text).starts_with("w.txt:1: all_gpus: 7 must be a multiple"));
    EXPECT_EQ(error_of("w.txt", std::string(kSimai).substr(0, 200)),
              "w.txt:4: a layer has 12 columns, not 1");
}

std::string kineto(std::uint32_t rank, std::uint32_t world, const std::string& ranks) {
    return R"({"distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": )" +
           std::to_string(world) + R"(}, "traceEvents": [
      {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 100, "dur": 10, "args": {"stream": 7}},
      {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 112, "dur": 10, "args": {"stream": 7}},
      {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 111, "dur": 50,
       "args": {"stream": 20, "Collective name": "allreduce", "dtype": "BFloat16",
                "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,
                "Process Group Name": "0", "Process Group Ranks": ")" +
           ranks + R"(", "Global rank start": 0, "Global rank stride": 1}},
      {"ph": "X", "cat": "kernel", "name": "step", "ts": 161, "dur": 1, "args": {"stream": 7}},
      {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 90, "dur": 1,
       "args": {"Collective name": "allreduce", "In msg nelems": 1000}}]})";
}

TEST(Kineto, StreamsWaitForEachOtherAsTimesShow) {
    const std::vector<TraceText> files{{"rank-0.json", kineto(0, 2, "[0, 1]")},
                                       {"rank-1.json", kineto(1, 2, "[0, 1]")}};
    const auto job = parse_trace(files, {});
    ASSERT_TRUE(job) << job.error();
    const auto& program = job->program(1);
    std::vector<Kind> kinds;
    for (const Operation& op : program.operations()) {
        kinds.push_back(op.kind);
    }
    // A kernel, the host's gap before NCCL's kernel, NCCL's kernel, the host's gap before the
    // second kernel, the second kernel, and the last one.
    EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kCompute, Kind::kCompute, Kind::kCollective,
                                        Kind::kCompute, Kind::kCompute, Kind::kCompute}));
    EXPECT_EQ(program.operations()[1].compute_ps, 1'000'000U);
    EXPECT_EQ(program.operations()[2].bytes, 2000U);
    EXPECT_EQ(program.operations()[3].compute_ps, 2'000'000U);
    bool waits = false;
    for (const plan::trace::Edge& edge : program.edges()) {
        waits = waits || (edge.operation == 5 && edge.dependency.on == 2);
    }
    EXPECT_TRUE(waits);
}

TEST(Kineto, OneRankStandsForAll) {
    const auto job = parse("rank-0.json", kineto(0, 8, "[0, 1]"));
    ASSERT_TRUE(job) << job.error();
    EXPECT_EQ(job->ranks(), 8U);
    EXPECT_EQ(job->programs.size(), 1U);
    EXPECT_EQ(job->communicators[0].groups.size(), 4U);
    EXPECT_EQ(job->communicators[0].groups[3], (std::vector<std::uint32_t>{6, 7}));
}

TEST(Kineto, AListThatIsCutFollowsStartAndStride) {
    const auto job = parse("rank-0.json", kineto(0, 2, "[0, ..."));
    ASSERT_TRUE(job) << job.error();
    EXPECT_EQ(job->communicators[0].groups[0], (std::vector<std::uint32_t>{0, 1}));
}

TEST(TraceFile, WhatIsNoTraceIsSaid) {
    EXPECT_EQ(error_of("x", ""), "x: the file is empty");
    EXPECT_EQ(error_of("x", "hello"),
              "x: this is no trace: GOAL, Chakra (.et or JSON), SimAI and Kineto (JSON) are read");
    EXPECT_EQ(rank_in_name("dir9/name.12.et"), 12U);
    EXPECT_EQ(rank_in_name("name"), std::nullopt);
    EXPECT_FALSE(load_trace(std::vector<std::string>{"/nowhere/x.goal"}, {}));
}

TEST(Protobuf, ReadersStayInTheirBytes) {
    std::string out;
    put_number(out, 3, 1ULL << 63);
    put_bytes(out, 10, "abc");
    ProtoReader reader(out);
    EXPECT_EQ(reader.field()->value, 1ULL << 63);
    EXPECT_EQ(reader.field()->bytes, "abc");
    EXPECT_TRUE(reader.done() && reader.ok());
    for (std::size_t size = 1; size < out.size(); ++size) {
        ProtoReader cut(std::string_view(out).substr(0, size));
        while (cut.field()) {
        }
        EXPECT_TRUE(cut.done());
    }
    ProtoReader endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    EXPECT_EQ(endless.varint(), std::nullopt);
    EXPECT_FALSE(endless.ok());
}

}  // namespace
}  // namespace softib::spec
