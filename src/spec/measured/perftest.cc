// SPDX-License-Identifier: BSD-2-Clause
// Tables of perftest: ib_write_bw and the like, as text and as JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "spec/measured/log_reader.h"
#include "spec/measured/words.h"

namespace softib::spec {

namespace {

using Json = nlohmann::json;

constexpr double kMebibytesPerGb = 1024.0 * 1024 / 1e9;
constexpr double kGigabitsPerGb = 1.0 / 8;

/// Returns the benchmark of a title such as "RDMA_Write Bidirectional Post List BW Test".
const plan::Benchmark* find_perftest(std::string_view text) {
    std::string title(trimmed(text));
    for (const std::string_view extra : {" Post List", " Atomic"}) {
        if (const std::size_t at = title.find(extra); at != std::string::npos) {
            title.erase(at, extra.size());
        }
    }
    for (const plan::Benchmark& each : plan::benchmarks()) {
        if (each.tool == plan::Tool::kPerftest && title == each.title) {
            return &each;
        }
    }
    return nullptr;
}

/// Returns the number of a key in JSON, whose case has changed between versions.
std::optional<double> number_of(const Json& table, std::string_view name) {
    for (const auto& [key, value] : table.items()) {
        const bool same = std::ranges::equal(key, name, [](char a, char b) {
            return std::tolower(static_cast<unsigned char>(a)) ==
                   std::tolower(static_cast<unsigned char>(b));
        });
        if (same && value.is_number()) {
            const double number = value.get<double>();
            return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
        }
        if (same && value.is_string()) {
            return decimal(value.get_ref<const std::string&>());
        }
    }
    return std::nullopt;
}

/// Returns GB/s. JSON does not say the unit: the rate of messages tells MiB/s from Gb/s.
double rate_in(double average, double bytes, std::optional<double> mpps) {
    const double in_mebibytes = average * kMebibytesPerGb;
    const double in_gigabits = average * kGigabitsPerGb;
    if (!mpps || *mpps <= 0) {
        // No HCA has 2 Tb/s, and none is slower than 2,000 MiB/s with long messages.
        return average > 2000 ? in_mebibytes : in_gigabits;
    }
    const double by_messages = *mpps * bytes / 1e3;
    return std::abs(std::log(in_mebibytes / by_messages)) <
                   std::abs(std::log(in_gigabits / by_messages))
               ? in_mebibytes
               : in_gigabits;
}

}  // namespace

bool LogReader::read_perftest_header(const LogLine& line) {
    const std::string_view text = line.text;
    if (text.ends_with(" Test") && !text.starts_with('#')) {
        if (const auto* const benchmark = find_perftest(text)) {
            titled_ = benchmark;
            gpu_memory_ = false;
            open_ = Open::kNone;
            return true;
        }
        if (text.starts_with("RDMA_") || text.starts_with("Send ") || text.starts_with("Raw ")) {
            titled_ = nullptr;
            open_ = Open::kNone;
            found_.notes.push_back(
                fmt::format("{}: the planner has no expectation for '{}', whose rows are left out",
                            place(line.number), text));
            return true;
        }
    }
    if (text.starts_with("Mtu ")) {
        if (const auto mtu = number_after(text, ":")) {
            add_fact(plan::FactKind::kMtu, line, std::to_string(*mtu));
        }
        return true;
    }
    if (text.contains("CUDA device") || text.contains("initializing CUDA")) {
        gpu_memory_ = true;
    }
    if (text.starts_with("-----")) {
        open_ = open_ == Open::kPerftest ? Open::kNone : open_;
        return true;
    }
    const auto words = words_of(text);
    if (words.empty() || words[0] != "#bytes") {
        return false;
    }
    open_ = Open::kNone;
    if (titled_ == nullptr || titled_->tool != plan::Tool::kPerftest) {
        return true;
    }
    const auto typical = std::ranges::find_if(words, [](std::string_view word) {
        return word.starts_with("t_typical") || word.starts_with("t_avg");
    });
    if (titled_->work == plan::Work::kLatency && typical == words.end()) {
        return true;
    }
    plan::MeasuredTable& table = begin_table(titled_, line);
    table.gpu_memory = gpu_memory_;
    // Words of a header of bandwidths: #bytes, #iterations, BW peak, BW average, MsgRate.
    constexpr std::size_t kAverage = 3;
    value_word_ =
        titled_->is_bandwidth() ? kAverage : static_cast<std::size_t>(typical - words.begin());
    unit_ = !titled_->is_bandwidth()  ? 1
            : text.contains("Gb/sec") ? kGigabitsPerGb
                                      : kMebibytesPerGb;
    open_ = Open::kPerftest;
    return true;
}

LogReader::Done LogReader::read_perftest_row(const LogLine& line) {
    const auto words = words_of(line.text);
    if (words.size() <= value_word_) {
        return cut_row(line, fmt::format("has {} words where its table has {} or more",
                                         words.size(), value_word_ + 1));
    }
    const auto figure = decimal(words[value_word_]);
    if (!figure) {
        return cut_row(line, fmt::format("has '{}' where a figure must be", words[value_word_]));
    }
    if (*figure > 0) {
        open_table()->rows.push_back({.bytes = *whole_number(words[0]),
                                      .values = {*figure * unit_, std::nullopt},
                                      .line = line.number});
    }
    return true;
}

/// Reads what --out_json writes: "test_info" and "results", one or a list.
LogReader::Done LogReader::read_perftest_json() {
    const Json whole = Json::parse(log_.text, nullptr, false);
    if (whole.is_discarded() || !whole.is_object()) {
        return std::unexpected(fmt::format(
            "{}:1: this begins as JSON and is none: write it again by perftest --out_json",
            log_.file));
    }
    const auto info = whole.find("test_info");
    const auto results = whole.find("results");
    const Json* const title = info != whole.end() && info->is_object() && info->contains("test")
                                  ? &(*info)["test"]
                                  : nullptr;
    const plan::Benchmark* const benchmark =
        title != nullptr && title->is_string() ? find_perftest(title->get_ref<const std::string&>())
                                               : nullptr;
    if (benchmark == nullptr || results == whole.end()) {
        return std::unexpected(
            fmt::format("{}:1: this JSON is none of perftest: 'test_info' must have a 'test' that "
                        "is known, as 'RDMA_Write BW Test', and there must be 'results'",
                        log_.file));
    }
    if (const auto mtu = number_of(*info, "Mtu")) {
        add_fact(plan::FactKind::kMtu, {"Mtu", 1}, fmt::format("{:.0f}", *mtu));
    }
    plan::MeasuredTable& table = begin_table(benchmark, {"", 1});
    const Json rows = results->is_array() ? *results : Json::array({*results});
    for (const Json& row : rows) {
        const auto bytes = row.is_object() ? number_of(row, "MsgSize") : std::nullopt;
        auto figure = row.is_object()
                          ? number_of(row, benchmark->is_bandwidth() ? "BW_average" : "t_typical")
                          : std::nullopt;
        if (row.is_object() && !figure && !benchmark->is_bandwidth()) {
            figure = number_of(row, "t_avg");
        }
        if (!bytes || !figure || *figure <= 0 || *bytes > 1e15) {
            return std::unexpected(
                fmt::format("{}:1: 'results' needs 'MsgSize' and '{}' above 0", log_.file,
                            benchmark->is_bandwidth() ? "BW_average" : "t_typical"));
        }
        const double value = benchmark->is_bandwidth()
                                 ? rate_in(*figure, *bytes, number_of(row, "MsgRate"))
                                 : *figure;
        table.rows.push_back({.bytes = static_cast<std::uint64_t>(*bytes),
                              .values = {value, std::nullopt},
                              .line = 1});
    }
    return true;
}

}  // namespace softib::spec
