// SPDX-License-Identifier: BSD-2-Clause
// Tables of OSU's micro-benchmarks: a title, a header that begins with "# Size", and rows of a size
// and a figure, with -f more of them.
#include <fmt/format.h>

#include "spec/measured/log_reader.h"
#include "spec/measured/words.h"

namespace softib::spec {

namespace {

constexpr double kMbPerGb = 1e-3;

/// Returns the benchmark of a title such as "# OSU MPI-CUDA Allreduce Latency Test v7.3"; nullptr
/// if there is no expectation for it.
const plan::Benchmark* find_osu(std::string_view title) {
    const plan::Benchmark* found = nullptr;
    std::size_t at_found = 0;
    for (const plan::Benchmark& each : plan::benchmarks()) {
        if (each.tool != plan::Tool::kOsu) {
            continue;
        }
        // "Latency Test" ends most titles: the one that begins first is meant.
        const std::size_t at = title.find(each.title);
        if (at != std::string_view::npos && (found == nullptr || at < at_found)) {
            found = &each;
            at_found = at;
        }
    }
    if (found == nullptr) {
        return nullptr;
    }
    // Nothing but "# OSU MPI" and a kind of memory may stand before the title.
    const auto words = words_of(title.substr(0, at_found));
    return words.size() == 3 && words[2].starts_with("MPI") ? found : nullptr;
}

}  // namespace

bool LogReader::read_osu_header(const LogLine& line) {
    const std::string_view text = line.text;
    if (text.starts_with("# OSU ")) {
        open_ = Open::kNone;
        titled_ = find_osu(text);
        gpu_memory_ = text.contains("CUDA") || text.contains("ROCM") || text.contains("D D");
        if (titled_ == nullptr) {
            found_.notes.push_back(
                fmt::format("{}: the planner has no expectation for '{}', whose rows are left out",
                            place(line.number), trimmed(text.substr(1))));
        }
        return true;
    }
    const auto words = words_of(text);
    if (words.size() < 3 || words[0] != "#" || words[1] != "Size") {
        return false;
    }
    if (titled_ == nullptr || titled_->tool != plan::Tool::kOsu) {
        open_ = Open::kNone;
        return true;
    }
    plan::MeasuredTable& table = begin_table(titled_, line);
    table.gpu_memory = gpu_memory_;
    value_word_ = 1;
    unit_ = titled_->is_bandwidth() ? kMbPerGb : 1;
    open_ = Open::kOsu;
    return true;
}

LogReader::Done LogReader::read_osu_row(const LogLine& line) {
    const auto words = words_of(line.text);
    const auto figure = decimal(words[value_word_]);
    if (!figure || *figure <= 0) {
        return cut_row(line, fmt::format("has '{}' where a figure must be", words[value_word_]));
    }
    open_table()->rows.push_back({.bytes = *whole_number(words[0]),
                                  .values = {*figure * unit_, std::nullopt},
                                  .line = line.number});
    return true;
}

}  // namespace softib::spec
