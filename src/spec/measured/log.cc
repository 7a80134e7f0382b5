// SPDX-License-Identifier: BSD-2-Clause
#include "spec/measured/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "spec/measured/log_reader.h"
#include "spec/measured/words.h"

namespace softib::spec {

namespace {

/// Takes away what colours a terminal.
std::string without_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\x1b' && at + 1 < text.size() && text[at + 1] == '[') {
            at += 2;
            while (at < text.size() && (text[at] < '@' || text[at] > '~')) {
                ++at;
            }
            continue;
        }
        if (text[at] != '\r' && text[at] != '\0') {
            plain += text[at];
        }
    }
    return plain;
}

/// Returns the length of the digits and of `others` that a text begins with.
std::size_t span_of(std::string_view text, std::string_view others) {
    std::size_t length = 0;
    while (length < text.size() &&
           (is_digit(text[length]) || others.find(text[length]) != std::string_view::npos)) {
        ++length;
    }
    return length;
}

/// Returns the length of a tag in brackets or before a colon: "[1,0]<stdout>:", "12: ".
std::size_t tag_length(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t digits = 1 + span_of(text.substr(1), ",.:-/T Z+");
        if (digits > 1 && digits < text.size() && text[digits] == ']') {
            std::size_t end = digits + 1;
            if (text.substr(end).starts_with("<std")) {
                end = std::min(text.find('>', end), text.size() - 1) + 1;
            }
            return end < text.size() && text[end] == ':' ? end + 1 : end;
        }
        return 0;
    }
    const std::size_t digits = span_of(text, "");
    const bool label =
        digits > 0 && digits + 1 < text.size() && text[digits] == ':' && is_blank(text[digits + 1]);
    return label ? digits + 1 : 0;
}

/// Returns the length of a date and a time: "2026-03-01T12:00:00.5Z", "2026-03-01 12:00:00".
std::size_t time_length(std::string_view text) {
    const std::size_t date = span_of(text, "-");
    if (date < 8 || std::ranges::count(text.substr(0, date), '-') != 2 || date == text.size()) {
        return 0;
    }
    if (text[date] != 'T' && text[date] != ' ') {
        return 0;
    }
    const std::size_t clock = span_of(text.substr(date + 1), ":.,+Z-");
    return std::ranges::count(text.substr(date + 1, clock), ':') >= 2 ? date + 1 + clock : 0;
}

/// Returns a line without what launchers put before it.
std::string_view without_prefix(std::string_view line) {
    constexpr int kPrefixesMost = 4;
    for (int i = 0; i < kPrefixesMost; ++i) {
        const std::string_view text = trimmed(line);
        const std::size_t length = std::max(tag_length(text), time_length(text));
        if (length == 0) {
            break;
        }
        line = text.substr(length);
    }
    return trimmed(line);
}

}  // namespace

std::string LogReader::place(std::uint32_t line) const {
    return fmt::format("{}:{}", log_.file, line);
}

std::unexpected<std::string> LogReader::bad_row(const LogLine& line,
                                                const std::string& needs) const {
    return std::unexpected(
        fmt::format("{}: this row {}: '{}'", place(line.number), needs, line.text.substr(0, 120)));
}

LogReader::Done LogReader::cut_row(const LogLine& line, const std::string& needs) {
    if (!line.last) {
        return bad_row(line, needs);
    }
    found_.notes.push_back(fmt::format(
        "{}: the log ends in the middle of this row, which is left out", place(line.number)));
    return true;
}

void LogReader::add_fact(plan::FactKind kind, const LogLine& line, std::string value) {
    const bool known = std::ranges::any_of(found_.facts, [&](const plan::Fact& fact) {
        return fact.kind == kind && fact.value == value;
    });
    if (!known) {
        found_.facts.push_back(
            {kind, std::move(value), place(line.number), std::string(line.text.substr(0, 160))});
    }
}

plan::MeasuredTable& LogReader::begin_table(const plan::Benchmark* benchmark, const LogLine& line) {
    found_.tables.push_back({.benchmark = benchmark, .file = log_.file, .line = line.number});
    return found_.tables.back();
}

plan::MeasuredTable* LogReader::open_table() {
    return open_ == Open::kNone || found_.tables.empty() ? nullptr : &found_.tables.back();
}

LogReader::Done LogReader::read_line(const LogLine& line) {
    const std::string_view text = line.text;
    if (text.contains("NCCL INFO") || text.contains("NCCL WARN")) {
        read_info(line);
        return true;
    }
    note_program(text);
    if (read_rank(line) || read_osu_header(line) || read_perftest_header(line)) {
        return true;
    }
    if (const Done header = read_nccl_header(line); !header || *header) {
        return header;
    }
    const auto words = words_of(text);
    if (words.size() < 2 || !whole_number(words[0]) || !decimal(words[1])) {
        return false;
    }
    switch (open_) {
        case Open::kNccl:
            return read_nccl_row(line);
        case Open::kOsu:
            return read_osu_row(line);
        case Open::kPerftest:
            return read_perftest_row(line);
        case Open::kNone:
            break;
    }
    return false;
}

std::expected<plan::MeasuredLog, std::string> LogReader::read() {
    const std::string plain = without_escapes(log_.text);
    if (trimmed(std::string_view(plain).substr(0, plain.find('\n'))).starts_with('{')) {
        if (const Done done = read_perftest_json(); !done) {
            return std::unexpected(done.error());
        }
    } else {
        std::string_view left = plain;
        for (std::uint32_t number = 1; !left.empty(); ++number) {
            const std::size_t end = left.find('\n');
            const bool last = end == std::string_view::npos;
            const LogLine line{without_prefix(left.substr(0, end)), number, last};
            if (const Done done = read_line(line); !done) {
                return std::unexpected(done.error());
            }
            left.remove_prefix(last ? left.size() : end + 1);
        }
    }
    std::erase_if(found_.tables,
                  [](const plan::MeasuredTable& table) { return table.rows.empty(); });
    for (plan::MeasuredTable& table : found_.tables) {
        finish_nccl(table);
    }
    if (found_.tables.empty()) {
        std::string_view first = plain;
        first = trimmed(first.substr(0, first.find('\n')));
        return std::unexpected(fmt::format(
            "{}:1: no table of nccl-tests, OSU or perftest is in this file: it begins with '{}'{}",
            log_.file, first.substr(0, 60),
            found_.notes.empty() ? "" : "; " + found_.notes.front()));
    }
    return std::move(found_);
}

std::expected<plan::MeasuredLog, std::string> parse_log(const LogText& log) {
    return LogReader(log).read();
}

void append(plan::MeasuredLog& all, plan::MeasuredLog more) {
    std::ranges::move(more.tables, std::back_inserter(all.tables));
    std::ranges::move(more.facts, std::back_inserter(all.facts));
    std::ranges::move(more.notes, std::back_inserter(all.notes));
}

}  // namespace softib::spec
