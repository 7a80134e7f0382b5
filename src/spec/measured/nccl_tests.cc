// SPDX-License-Identifier: BSD-2-Clause
// Tables of nccl-tests. Their columns depend on the version: a row ends with time, algbw and busbw,
// and mostly the number of wrong values, once or twice (out of place, in place).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "spec/measured/log_reader.h"
#include "spec/measured/words.h"

namespace softib::spec {

namespace {

constexpr std::size_t kWordsBefore = 3;  ///< Those of a row before its times: size, count, type.

/// Returns the name of a GPU behind "device  0 [0x1b] ".
std::string_view gpu_in(std::string_view text) {
    const std::size_t bracket = text.find(']');
    return bracket == std::string_view::npos ? std::string_view{}
                                             : trimmed(text.substr(bracket + 1));
}

}  // namespace

/// Notes the benchmark that a line names, as a command line or as a title.
void LogReader::note_program(std::string_view text) {
    if (!text.contains("_perf")) {
        return;
    }
    for (const plan::Benchmark& each : plan::benchmarks()) {
        const std::size_t at = text.find(each.name);
        if (each.tool == plan::Tool::kNcclTests && at != std::string_view::npos &&
            (at == 0 || !((text[at - 1] >= 'a' && text[at - 1] <= 'z') || text[at - 1] == '_'))) {
            program_ = &each;
        }
    }
}

/// Reads "#  Rank  0 Group  0 Pid  1 on  host device  0 [0x1b] GPU".
bool LogReader::read_rank(const LogLine& line) {
    const auto words = words_of(line.text);
    if (words.size() < 3 || words[0] != "#" || words[1] != "Rank") {
        return false;
    }
    const auto rank = whole_number(words[2]);
    const auto on = std::ranges::find(words, "on");
    if (!rank || on == words.end() || on + 1 == words.end()) {
        return false;
    }
    if (open_ == Open::kNccl || *rank == 0) {
        // Another test begins.
        open_ = Open::kNone;
        ranks_.clear();
        groups_.clear();
    }
    if (words.size() > 4 && words[3] == "Group") {
        groups_.emplace(words[4]);
    }
    ranks_[*rank] = std::string(*(on + 1));
    if (*rank == 0) {
        gpu_ = gpu_in(line.text);
    }
    return true;
}

LogReader::Done LogReader::read_nccl_header(const LogLine& line) {
    const auto words = words_of(line.text);
    if (words.empty() || words[0] != "#" || std::ranges::find(words, "size") == words.end() ||
        std::ranges::find(words, "busbw") == words.end()) {
        return false;
    }
    const auto is_time = [](std::string_view word) { return word.ends_with("time"); };
    halves_ = static_cast<std::size_t>(std::ranges::count_if(words, is_time));
    const bool checked = std::ranges::any_of(words, [](std::string_view word) {
        return word == "#wrong" || word == "error" || word == "wrong";
    });
    half_words_ = checked ? 4 : 3;
    columns_ = std::ranges::find(words, "root") != words.end() ? plan::MeasuredTable::kHasRoot : 0;
    if (halves_ == 0 || halves_ > 2) {
        return false;
    }
    if (groups_.size() > 1) {
        return std::unexpected(fmt::format(
            "{}: the ranks of this table are {} communicators at once (NCCL_TESTS_SPLIT), and the "
            "planner expects one: measure without it",
            place(line.number), groups_.size()));
    }
    plan::MeasuredTable& table = begin_table(program_, line);
    table.ranks = static_cast<std::uint32_t>(ranks_.size());
    std::set<std::string> hosts;
    for (const auto& [rank, host] : ranks_) {
        hosts.insert(host);
    }
    table.nodes = static_cast<std::uint32_t>(hosts.size());
    table.gpu = gpu_;
    open_ = Open::kNccl;
    return true;
}

LogReader::Done LogReader::read_nccl_row(const LogLine& line) {
    const auto words = words_of(line.text);
    if (words.size() < kWordsBefore + halves_ * half_words_) {
        return cut_row(line, fmt::format("has {} words where its table has {} or more",
                                         words.size(), kWordsBefore + halves_ * half_words_));
    }
    plan::MeasuredTable& table = *open_table();
    plan::MeasuredRow row{.bytes = *whole_number(words[0]), .line = line.number};
    const std::size_t first = words.size() - halves_ * half_words_;
    for (std::size_t half = 0; half < halves_; ++half) {
        const std::size_t at = first + half * half_words_;
        const auto us = decimal(words[at]);
        if (!us && words[at] != "N/A") {
            return cut_row(line,
                           fmt::format("has '{}' where a time in microseconds must be", words[at]));
        }
        if (us && *us > 0) {
            row.values[half] = us;
        }
        const auto algbw = decimal(words[at + 1]);
        const auto busbw = decimal(words[at + 2]);
        // The printed figures have two digits behind the point.
        constexpr double kExact = 5;
        if (algbw && busbw && *algbw >= kExact) {
            table.bus_factor = *busbw / *algbw;
        }
        if (half_words_ == 4) {
            row.wrong +=
                static_cast<std::uint64_t>(std::min(decimal(words[at + 3]).value_or(0), 1e15));
        }
    }
    if (first >= 5 && columns_ != 0) {
        if (words[first - 2] != "none") {
            table.root_kind |= plan::MeasuredTable::kHasSum;
        }
        if (words[first - 1] != "-1") {
            table.root_kind |= plan::MeasuredTable::kHasRoot;
        }
    }
    if (row.values[0] || row.values[1] || row.wrong != 0) {
        table.rows.push_back(row);
    }
    return true;
}

/// Finds the benchmark of a table that the log does not name, by its columns and by busbw.
void LogReader::finish_nccl(plan::MeasuredTable& table) const {
    if (table.benchmark != nullptr || table.bus_factor <= 0) {
        return;
    }
    const bool sums = (table.root_kind & plan::MeasuredTable::kHasSum) != 0;
    const bool rooted = (table.root_kind & plan::MeasuredTable::kHasRoot) != 0;
    constexpr double kSame = 0.01;
    const double n = table.ranks;
    const auto is = [&](double factor) {
        return n > 1 && std::abs(table.bus_factor - factor) < kSame * factor;
    };
    if (sums && !rooted && is(2 * (n - 1) / n)) {
        table.benchmark = plan::find_benchmark("all_reduce_perf");
    } else if (sums && rooted && is(1)) {
        table.benchmark = plan::find_benchmark("reduce_perf");
    } else if (sums && !rooted && is((n - 1) / n)) {
        table.benchmark = plan::find_benchmark("reduce_scatter_perf");
    } else if (!sums && rooted && is(1) && !is((n - 1) / n)) {
        table.benchmark = plan::find_benchmark("broadcast_perf");
    } else if (!sums && !rooted && is(1) && !is((n - 1) / n)) {
        table.benchmark = plan::find_benchmark("sendrecv_perf");
    }
}

}  // namespace softib::spec
