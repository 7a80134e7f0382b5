// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a log line by line. Each tool has a part of its own, in nccl_tests.cc, osu.cc, perftest.cc
// and nccl_info.cc.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/expect/benchmark.h"
#include "spec/measured/log.h"

namespace softib::spec {

/// A line without what launchers put before it.
struct LogLine {
    std::string_view text = {};
    std::uint32_t number = 0;
    bool last = false;  ///< Whether it is the last one, and no line feed ends it.
};

class LogReader {
  public:
    explicit LogReader(const LogText& log) : log_(log) {}
    std::expected<plan::MeasuredLog, std::string> read();

  private:
    using Done = std::expected<bool, std::string>;  ///< Whether the line belonged to the tool.

    Done read_line(const LogLine& line);
    // nccl_tests.cc
    Done read_nccl_header(const LogLine& line);
    bool read_rank(const LogLine& line);
    Done read_nccl_row(const LogLine& line);
    void note_program(std::string_view text);
    void finish_nccl(plan::MeasuredTable& table) const;
    // osu.cc
    bool read_osu_header(const LogLine& line);
    Done read_osu_row(const LogLine& line);
    // perftest.cc
    bool read_perftest_header(const LogLine& line);
    Done read_perftest_row(const LogLine& line);
    Done read_perftest_json();
    // nccl_info.cc
    void read_info(const LogLine& line);

    std::string place(std::uint32_t line) const;
    std::unexpected<std::string> bad_row(const LogLine& line, const std::string& needs) const;
    /// Takes a row that ends too early. It is a fault, unless the log ends there.
    Done cut_row(const LogLine& line, const std::string& needs);
    void add_fact(plan::FactKind kind, const LogLine& line, std::string value = {});
    plan::MeasuredTable& begin_table(const plan::Benchmark* benchmark, const LogLine& line);
    /// Returns the table that rows belong to; nullptr if there is none.
    plan::MeasuredTable* open_table();

    const LogText& log_;
    plan::MeasuredLog found_ = {};

    /// The table that rows belong to.
    enum class Open : std::uint8_t { kNone, kNccl, kOsu, kPerftest };
    Open open_ = Open::kNone;

    // nccl-tests
    const plan::Benchmark* program_ = nullptr;         ///< The last one that the log named.
    std::map<std::uint64_t, std::string> ranks_ = {};  ///< The host of each rank.
    std::set<std::string> groups_ = {};  ///< Communicators that the ranks are divided into.
    std::string gpu_ = {};
    std::size_t halves_ = 0;      ///< Times in a row: out of place, in place.
    std::size_t half_words_ = 0;  ///< Words of each.
    std::uint32_t columns_ = 0;   ///< Bits of MeasuredTable::root_kind.

    // OSU and perftest
    const plan::Benchmark* titled_ = nullptr;
    bool gpu_memory_ = false;
    std::size_t value_word_ = 0;  ///< The word of a row that has the figure.
    double unit_ = 1;             ///< What turns the figure into microseconds or GB/s.
    std::size_t row_words_ = 0;   ///< Words that a row has at least.
};

}  // namespace softib::spec
