// SPDX-License-Identifier: BSD-2-Clause
// The entries of the planner, which a program of fuzzers has in place of those of entries.cc.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "entries.h"
#include "spec/measured/log.h"
#include "spec/trace/trace_file.h"
#include "zip/gzip.h"

namespace softib::fuzz {

namespace {

constexpr std::array<std::string_view, 8> kBeginnings{
    "",
    "num_ranks 2\nrank 0 {\nl1: ",
    "num_ranks 2\nrank 0 { a: send 8b to 1 tag 1 b: calc 5 b requires a } ",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4\n2\n",
    std::string_view("\x07\x0a\x05"
                     "0.0.4",
                     8),
    "{\"traceEvents\": [",
    "[{\"id\": 1, \"type\": 7, \"comm_type\": 0, ",
    "{\"distributedInfo\": {\"world_size\": 4}, \"traceEvents\": [{\"cat\": \"kernel\", \"ts\": "
    "1, "};

/// Returns whether a trace of these bytes is refused with a message, or is the same after it was
/// written and read again. The first byte chooses the beginning of the trace, so that every reader
/// gets input.
bool trace_holds(std::span<const std::uint8_t> input) {
    if (input.empty()) {
        return true;
    }
    if ((input[0] & 0x80) != 0) {
        std::string packed("\x1f\x8b\x08", 3);
        packed.append(7, '\0');
        packed.append(input.begin() + 1, input.end());
        const auto unpacked = zip::gunzip(packed);
        return unpacked || !unpacked.error().empty();
    }
    std::string text(kBeginnings[input[0] % kBeginnings.size()]);
    text.append(input.begin() + 1, input.end());
    const std::vector<spec::TraceText> files{{"fuzz.et", std::move(text)}};
    const auto job = spec::parse_trace(files, {});
    if (!job) {
        return !job.error().empty();
    }
    constexpr std::uint32_t kRanksWritten = 64;
    if (job->ranks() > kRanksWritten) {
        return true;
    }
    const auto written = spec::write_goal(*job);
    if (written) {
        const auto again = spec::parse_goal({"again.goal", *written});
        return again && spec::write_goal(*again) == written;
    }
    return !spec::write_chakra(*job, 0).empty();
}

constexpr std::array<std::string_view, 5> kLogBeginnings{
    "",
    "all_reduce_perf\n#  Rank  0 Pid 1 on a device  0 [0x1b] H100\n"
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n",
    "# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n",
    "RDMA_Write BW Test\n#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n",
    "{\"test_info\": {\"test\": \"RDMA_Write BW Test\"}, \"results\": "};

/// Returns whether a log of benchmarks is refused with a message, or has rows with figures. The
/// first byte chooses its beginning.
bool measured_holds(std::span<const std::uint8_t> input) {
    if (input.empty()) {
        return true;
    }
    std::string text(kLogBeginnings[input[0] % kLogBeginnings.size()]);
    text.append(input.begin() + 1, input.end());
    const auto log = spec::parse_log({"fuzz.log", std::move(text)});
    if (!log) {
        return !log.error().empty();
    }
    return std::ranges::all_of(log->tables, [](const plan::MeasuredTable& table) {
        return !table.rows.empty() &&
               std::ranges::all_of(table.rows, [](const plan::MeasuredRow& row) {
                   return row.wrong != 0 || row.values[0] || row.values[1];
               });
    });
}

}  // namespace

std::span<const Entry> entries() {
    static const Entry kEntries[] = {{"Measured", measured_holds}, {"Trace", trace_holds}};
    return kEntries;
}

}  // namespace softib::fuzz
