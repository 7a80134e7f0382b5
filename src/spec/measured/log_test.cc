// SPDX-License-Identifier: BSD-2-Clause
#include "spec/measured/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/prng.h"

namespace softib::spec {
namespace {

using plan::FactKind;

/// Two tests of one job under mpirun --tag-output: what surrounds tables in real logs.
/// A test of a job under mpirun --tag-output: what surrounds a table in real logs. The columns are
/// those of nccl-tests, with one blank between them.
constexpr char kJob[] =
    R"(Job 4711 started on gpu-[001-002] at 2026-03-01 12:00:00
+ mpirun --tag-output -np 4 ./build/all_reduce_perf -b 8 -e 1G -f 2 -g 1
[1,0]<stdout>:# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor)
[1,0]<stdout>:#
[1,0]<stdout>:# Using devices
[1,0]<stdout>:#  Rank  0 Group  0 Pid 11 on gpu-001 device  0 [0x1b] NVIDIA H100 80GB HBM3
[1,0]<stdout>:#  Rank  1 Group  0 Pid 12 on gpu-001 device  1 [0x43] NVIDIA H100 80GB HBM3
[1,0]<stdout>:#  Rank  2 Group  0 Pid 21 on gpu-002 device  0 [0x1b] NVIDIA H100 80GB HBM3
[1,0]<stdout>:#  Rank  3 Group  0 Pid 22 on gpu-002 device  1 [0x43] NVIDIA H100 80GB HBM3
[1,3]<stderr>:b:2:1 [1] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0
[1,3]<stderr>:b:2:1 [1] NCCL INFO NVLS multicast support is not available on dev 1
[1,3]<stderr>:b:2:1 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0
[1,3]<stderr>:b:2:1 [1] NCCL INFO 8 coll channels, 0 collnet channels, 0 nvls channels
[1,3]<stderr>:b:2:1 [1] NCCL INFO NCCL_ALGO set by environment to Ring.
[1,0]<stdout>:#
[1,0]<stdout>:#                                 out-of-place              in-place
[1,0]<stdout>:# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
[1,0]<stdout>:#  (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)
[1,0]<stdout>: 8 2 float sum -1 35.20 0.00 0.00 0 34.41 0.00 0.00 0
[1,0]<stdout>: 1048576 262144 float sum -1 97.60 10.74 16.12 0 98.12 10.69 16.03 2
[1,0]<stdout>: 1073741824 268435456 float sum -1 5957.9  180.22  270.33 0 5960.1 180.16 270.23 N/A
[1,0]<stdout>:# Out of bounds values : 0 OK
[1,0]<stdout>:# Avg bus bandwidth    : 95.49
16 ranks ended normally
)";

plan::MeasuredLog parsed(const std::string& text) {
    auto log = parse_log({"job.log", text});
    EXPECT_TRUE(log) << log.error();
    return log.value_or(plan::MeasuredLog{});
}

std::string refusal(const std::string& text) {
    const auto log = parse_log({"job.log", text});
    EXPECT_FALSE(log);
    return log ? "" : log.error();
}

bool has_fact(const plan::MeasuredLog& log, FactKind kind, const std::string& value = "") {
    return std::ranges::any_of(log.facts, [&](const plan::Fact& fact) {
        return fact.kind == kind && fact.value == value;
    });
}

TEST(MeasuredLog, ATableOfNcclTestsIsFoundAmongTheLinesOfAJob) {
    const plan::MeasuredLog log = parsed(kJob);
    ASSERT_EQ(log.tables.size(), 1U);
    const plan::MeasuredTable& table = log.tables[0];
    EXPECT_STREQ(table.benchmark->name, "all_reduce_perf");
    EXPECT_EQ(table.ranks, 4U);
    EXPECT_EQ(table.nodes, 2U);
    EXPECT_EQ(table.gpu, "NVIDIA H100 80GB HBM3");
    ASSERT_EQ(table.rows.size(), 3U);
    EXPECT_EQ(table.rows[1].bytes, 1048576U);
    EXPECT_EQ(table.rows[1].values[0], 97.60);
    EXPECT_EQ(table.rows[1].values[1], 98.12);
    EXPECT_EQ(table.rows[1].wrong, 2U);
    EXPECT_EQ(table.rows[1].line, 20U);
    EXPECT_TRUE(log.notes.empty());
}

TEST(MeasuredLog, WhatNcclSaysOfItselfIsKept) {
    const plan::MeasuredLog log = parsed(kJob);
    EXPECT_TRUE(has_fact(log, FactKind::kInfiniBand, "2"));
    EXPECT_TRUE(has_fact(log, FactKind::kNoNvls));
    EXPECT_TRUE(has_fact(log, FactKind::kNoGdr));
    EXPECT_TRUE(has_fact(log, FactKind::kChannels, "8"));
    EXPECT_TRUE(has_fact(log, FactKind::kAlgorithm, "Ring"));
    EXPECT_FALSE(has_fact(log, FactKind::kSocket));
    EXPECT_EQ(log.facts[0].place, "job.log:10");
    const plan::MeasuredLog other = parsed(
        std::string("a:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
                    "a:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] via NET/IB/0/GDRDMA\n") +
        kJob);
    EXPECT_TRUE(has_fact(other, FactKind::kSocket));
    EXPECT_TRUE(has_fact(other, FactKind::kGdr));
}

/// A table without the lines that name its program; the columns of nccl-tests 2.0 to 2.8.
TEST(MeasuredLog, ATableWithoutANameIsKnownByItsColumnsIfTheyTell) {
    std::string ranks;
    for (int rank = 0; rank < 4; ++rank) {
        ranks += "#   Rank  " + std::to_string(rank) + " Pid  1 on  host device  0 [0x1b] V100\n";
    }
    const std::string header =
        "#       size         count    type   redop    root     time   algbw   busbw  error\n";
    const auto name_of = [&](const std::string& row) {
        const plan::MeasuredTable table = parsed(ranks + header + row).tables.at(0);
        return std::string(table.benchmark == nullptr ? "" : table.benchmark->name);
    };
    EXPECT_EQ(name_of("1048576 262144 float sum -1 50.0 20.00 30.00 0e+00\n"), "all_reduce_perf");
    EXPECT_EQ(name_of("1048576 262144 float sum -1 50.0 20.00 15.00 0e+00\n"),
              "reduce_scatter_perf");
    EXPECT_EQ(name_of("1048576 262144 float none 0 50.0 20.00 20.00 0e+00\n"), "broadcast_perf");
    EXPECT_EQ(name_of("1048576 262144 float sum 0 50.0 20.00 20.00 0e+00\n"), "reduce_perf");
    EXPECT_EQ(name_of("1048576 262144 float none -1 50.0 20.00 15.00 0e+00\n"), "")
        << "all-gather and all-to-all look alike";
}

TEST(MeasuredLog, TablesOfOsuHaveBandwidthsAndLatencies) {
    const plan::MeasuredLog log = parsed(R"(0: # OSU MPI-CUDA Bandwidth Test v7.3
0: # Datatype: MPI_CHAR.
0: # Size      Bandwidth (MB/s)
0: 1                       7.53
0: 4194304             48912.10

# OSU MPI Allreduce Latency Test v7.3
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       3.12              2.90              3.40        1000
1048576               150.50            149.00            152.00         100
# OSU MPI All-to-All Personalized Exchange Latency Test v5.9
# Size       Avg Latency(us)
1                       9.50
# OSU MPI Barrier Latency Test v7.3
# Avg Latency(us)
             4.20
)");
    ASSERT_EQ(log.tables.size(), 3U);
    EXPECT_STREQ(log.tables[0].benchmark->name, "osu_bw");
    EXPECT_TRUE(log.tables[0].gpu_memory);
    EXPECT_DOUBLE_EQ(*log.tables[0].rows[1].values[0], 48.9121);
    EXPECT_STREQ(log.tables[1].benchmark->name, "osu_allreduce");
    EXPECT_EQ(log.tables[1].rows[0].values[0], 3.12);
    EXPECT_STREQ(log.tables[2].benchmark->name, "osu_alltoall");
    ASSERT_EQ(log.notes.size(), 1U);
    EXPECT_TRUE(log.notes[0].contains("no expectation for 'OSU MPI Barrier Latency Test"));
}

constexpr char kWriteBw[] =
    "---------------------------------------------------------------------------------------\n"
    "                    RDMA_Write BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : 1\t\tTransport type : IB\n"
    " Mtu             : 4096[B]\n"
    " Link type       : IB\n"
    "---------------------------------------------------------------------------------------\n"
    " local address: LID 0x01 QPN 0x0126 PSN 0x9e2b0f RKey 0x17ff00 VAddr 0x007f\n"
    "---------------------------------------------------------------------------------------\n"
    " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    " 65536      5000             46500.34            46400.11\t\t   0.742402\n"
    " 8388608    5000             47010.00            47000.00\t\t   0.005875\n"
    "---------------------------------------------------------------------------------------\n";

TEST(MeasuredLog, TablesOfPerftestAreInMebibytesOrGigabits) {
    const plan::MeasuredLog log = parsed(kWriteBw);
    ASSERT_EQ(log.tables.size(), 1U);
    EXPECT_STREQ(log.tables[0].benchmark->name, "ib_write_bw");
    EXPECT_NEAR(*log.tables[0].rows[1].values[0], 47000 * 1.048576 / 1000, 1e-9);
    EXPECT_TRUE(has_fact(log, FactKind::kMtu, "4096"));
    std::string gigabits = kWriteBw;
    gigabits.replace(gigabits.find("RDMA_Write BW"), 13, "RDMA_Read Bidirectional BW");
    for (std::size_t at = 0; (at = gigabits.find("MB/sec", at)) != std::string::npos;) {
        gigabits.replace(at, 6, "Gb/sec");
    }
    const plan::MeasuredLog both = parsed(gigabits);
    EXPECT_STREQ(both.tables.at(0).benchmark->name, "ib_read_bw -b");
    EXPECT_DOUBLE_EQ(*both.tables[0].rows[0].values[0], 46400.11 / 8);
    const plan::MeasuredLog latency = parsed(
        "   RDMA_Write Latency Test\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
        "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
        " 2       1000          0.92           3.20         0.95     \t       0.96        \t0.05   "
        "\t\t1.02    \t\t3.20\n");
    EXPECT_EQ(latency.tables.at(0).rows.at(0).values[0], 0.95);
    const plan::MeasuredLog timed = parsed(
        "   Send Latency Test\n #bytes        #iterations       t_avg[usec]    tps average\n"
        " 2             5000000           1.05           475000.00\n");
    EXPECT_EQ(timed.tables.at(0).rows.at(0).values[0], 1.05) << "with -D";
}

TEST(MeasuredLog, JsonOfPerftestIsRead) {
    const std::string head =
        "{\n\"test_info\": {\n\"test\": \"RDMA_Write BW Test\",\n\"Mtu\": 4096},"
        "\n\"results\": ";
    const plan::MeasuredLog log =
        parsed(head +
               "{\"MsgSize\": 65536, \"n_iterations\": 5000, \"BW_peak\": 389.7, "
               "\"BW_average\": 389.1, \"MsgRate\": 0.742}}\n");
    EXPECT_DOUBLE_EQ(*log.tables.at(0).rows.at(0).values[0], 389.1 / 8);
    const plan::MeasuredLog mebibytes =
        parsed(head + "{\"MsgSize\": 65536, \"BW_average\": 46400.0, \"MsgRate\": 0.7424}}\n");
    EXPECT_NEAR(*mebibytes.tables.at(0).rows.at(0).values[0], 48.65, 0.01);
    EXPECT_TRUE(refusal("{\"a\": 1}").contains("job.log:1: this JSON is none of perftest"));
    EXPECT_TRUE(refusal("{\"a\": ").contains("begins as JSON and is none"));
    EXPECT_TRUE(refusal(head + "{\"MsgSize\": 65536}}").contains("needs 'MsgSize' and"));
}

TEST(MeasuredLog, AFaultNamesItsLine) {
    EXPECT_TRUE(refusal("hello\nworld\n")
                    .starts_with("job.log:1: no table of nccl-tests, OSU or perftest is in this "
                                 "file: it begins with "
                                 "'hello'"));
    std::string broken = kJob;
    broken.erase(broken.find(" 97.60 10.74 16.12 0"), 20);
    EXPECT_TRUE(refusal(broken).starts_with("job.log:20: this row has ")) << refusal(broken);
    std::string word = kJob;
    word.replace(word.find("97.60"), 5, "abcde");
    EXPECT_TRUE(refusal(word).starts_with("job.log:20: this row has 'abcde' where a time"));
    EXPECT_TRUE(refusal("").contains("no table"));
}

TEST(MeasuredLog, SeveralCommunicatorsAtOnceAreRefused) {
    std::string split = kJob;
    split.replace(split.find("Rank  1 Group  0"), 16, "Rank  1 Group  1");
    EXPECT_TRUE(refusal(split).starts_with("job.log:17: the ranks of this table are 2"));
}

TEST(MeasuredLog, ARowThatIsCutByTheEndOfTheLogIsANote) {
    const std::string whole = kJob;
    const std::string cut = whole.substr(0, whole.find("  180.22"));
    const plan::MeasuredLog log = parsed(cut);
    EXPECT_EQ(log.tables.at(0).rows.size(), 2U);
    ASSERT_EQ(log.notes.size(), 1U);
    EXPECT_TRUE(log.notes[0].starts_with("job.log:21: the log ends in the middle of this row"));
}

/// A cut, a changed byte, and bytes of no log at all: each is refused with a message, or is read.
TEST(MeasuredLog, AnyBytesAreReadOrRefused) {
    Prng prng(1);
    for (const std::string& whole : {std::string(kJob), std::string(kWriteBw)}) {
        for (std::size_t length = 0; length < whole.size(); length += 7) {
            const auto log = parse_log({"job.log", whole.substr(0, length)});
            EXPECT_TRUE(log ? !log->tables.empty() : log.error().starts_with("job.log:"));
        }
        for (int i = 0; i < 500; ++i) {
            std::string text = whole;
            for (int changes = 0; changes < 4; ++changes) {
                text[prng.below(text.size())] = static_cast<char>(prng.below(256));
            }
            const auto log = parse_log({"job.log", text});
            EXPECT_TRUE(log || !log.error().empty());
        }
    }
    for (int i = 0; i < 500; ++i) {
        std::string text(prng.below(300), '\0');
        std::ranges::generate(text, [&] { return static_cast<char>(prng.below(256)); });
        EXPECT_FALSE(parse_log({"job.log", text}));
    }
}

}  // namespace
}  // namespace softib::spec
