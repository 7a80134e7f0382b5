// SPDX-License-Identifier: BSD-2-Clause
// `softib plan expect`.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "answer/expect.h"
#include "app/cli/plan/plan_commands.h"
#include "app/fabric/term.h"
#include "plan/collective/algorithms.h"
#include "spec/text_file.h"

namespace softib::app {

namespace {

using plan::Verdict;

std::string figure(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    return *value < 100 ? fmt::format("{:.2f}", *value) : fmt::format("{:.1f}", *value);
}

std::string interval(const plan::Expected& expected) {
    return fmt::format("{} to {}{}", figure(expected.low), figure(expected.high),
                       expected.known ? "" : ", assumed");
}

std::string verdict_text(const plan::JudgedRow& row) {
    switch (row.verdict) {
        case Verdict::kSlow:
            return painted(fmt::format("slow: {:.2f} times", row.slower), Colour::kRed);
        case Verdict::kFast:
            return painted(fmt::format("fast: {:.2f} times", 1 / row.slower), Colour::kYellow);
        case Verdict::kWrong:
            return painted(fmt::format("WRONG: {} values", row.measured.wrong), Colour::kRed);
        case Verdict::kOk:
            break;
    }
    return painted("ok", Colour::kGreen);
}

std::string choice_text(const plan::Expected& expected) {
    const bool said = plan::row_of(expected.algorithm).has_protocols;
    return fmt::format("{}{}{}", plan::to_string(expected.algorithm), said ? " " : "",
                       said ? plan::to_string(expected.protocol) : "");
}

/// Returns the busbw of a measured time.
std::string busbw_of(const plan::JudgedRow& row) {
    const auto us = row.measured.values[0] ? row.measured.values[0] : row.measured.values[1];
    return us ? figure(row.expected.busbw * row.expected.value / *us) : "-";
}

std::string table_text(const plan::JudgedTable& judged, bool measured) {
    const plan::Benchmark& benchmark = *judged.run.table.benchmark;
    const bool nccl = benchmark.tool == plan::Tool::kNcclTests;
    const bool in_place = std::ranges::any_of(
        judged.rows, [](const plan::JudgedRow& row) { return row.measured.values[1].has_value(); });
    const std::string unit = benchmark.is_bandwidth() ? "GB/s" : "us";
    std::vector<std::string> header{"SIZE"};
    const auto add = [&header](bool wanted, std::string name) {
        if (wanted) {
            header.push_back(std::move(name));
        }
    };
    add(measured, "MEASURED " + unit);
    add(in_place, "IN PLACE " + unit);
    header.push_back("EXPECTED " + unit);
    header.push_back("INTERVAL " + unit);
    add(nccl && measured, "BUSBW GB/s");
    add(nccl, "EXPECTED GB/s");
    add(nccl, "BY");
    add(measured, "VERDICT");
    Table table(header);
    for (const plan::JudgedRow& row : judged.rows) {
        std::vector<std::string> cells{std::to_string(row.measured.bytes)};
        if (measured) {
            cells.push_back(figure(row.measured.values[0]));
        }
        if (in_place) {
            cells.push_back(figure(row.measured.values[1]));
        }
        cells.push_back(figure(row.expected.value));
        cells.push_back(interval(row.expected));
        if (nccl && measured) {
            cells.push_back(busbw_of(row));
        }
        if (nccl) {
            cells.push_back(figure(row.expected.busbw));
            cells.push_back(choice_text(row.expected));
        }
        if (measured) {
            cells.push_back(verdict_text(row));
        }
        table.row(std::move(cells));
    }
    return table.text();
}

std::string heading(const plan::JudgedTable& judged, bool measured) {
    const plan::Run& run = judged.run;
    const bool nccl = run.table.benchmark->tool == plan::Tool::kNcclTests;
    return painted(
        fmt::format("{}: {}, {} each{}", run.table.benchmark->name, counted(run.nodes, "node"),
                    nccl ? counted(run.per_node, "GPU") : counted(run.per_node, "rank"),
                    measured ? fmt::format(" ({}:{})", run.table.file, run.table.line) : ""),
        Colour::kBold);
}

void print_facts(const char* what, const std::vector<plan::Fact>& facts) {
    for (const plan::Fact& fact : facts) {
        fmt::print("   {}: {}: {}\n", what, fact.place, fact.text);
    }
}

void print_causes(const plan::Diagnosis& diagnosis) {
    if (diagnosis.faults.empty()) {
        fmt::print(
            "None of the {} causes that the planner knows explains half of the difference. Look "
            "at rows that are off alone: other jobs, a first run without warm-up, a GPU that is "
            "throttled.\n",
            plan::faults().size());
        return;
    }
    constexpr double kExplainsWell = 0.8;
    fmt::print("{}\n", diagnosis.faults[0].explained < kExplainsWell
                           ? "No cause explains the rows well. The nearest, by the cluster's model "
                             "with each planted:"
                           : "Likely causes, by how well the cluster's model with each planted "
                             "explains the rows:");
    std::size_t number = 0;
    for (const plan::LikelyFault& likely : diagnosis.faults) {
        number += 1;
        fmt::print("{}. {}\n", number, painted(likely.text, Colour::kBold));
        fmt::print(
            "   explains {:.0f} % of the difference; {} of {} rows are within the interval "
            "then{}\n",
            100 * likely.explained, likely.rows_within, diagnosis.rows,
            likely.as_likely ? "; this log cannot tell it from the one before" : "");
        print_facts("the log says so", likely.speaks_for);
        print_facts("the log speaks against it", likely.speaks_against);
        for (const char* const each : likely.fault->look_at) {
            fmt::print("   - {}\n", each);
        }
    }
}

void print_report(const answer::ExpectReport& report) {
    const plan::Diagnosis& diagnosis = report.diagnosis;
    for (const plan::JudgedTable& table : diagnosis.tables) {
        if (!table.rows.empty()) {
            fmt::print("{}\n\n{}\n", heading(table, report.measured),
                       table_text(table, report.measured));
        }
    }
    if (report.measured) {
        const bool slow = std::ranges::any_of(diagnosis.tables, [](const auto& table) {
            return std::ranges::any_of(table.rows, [](const plan::JudgedRow& row) {
                return row.verdict == Verdict::kSlow;
            });
        });
        const std::string said =
            diagnosis.off == 0
                ? fmt::format("Nothing is off: all of {} are within their intervals.",
                              counted(diagnosis.rows, "row"))
                : fmt::format("Off: {} of {}.", diagnosis.off, counted(diagnosis.rows, "row"));
        fmt::print("{}\n", painted(said, diagnosis.off == 0 ? Colour::kGreen : Colour::kRed));
        if (slow) {
            print_causes(diagnosis);
        }
        fmt::print("\n");
    }
    for (const auto* const lines : {&report.assumptions, &report.evidence}) {
        for (const std::string& line : *lines) {
            fmt::print("- {}\n", line);
        }
    }
    for (const std::string& message : report.notes) {
        note(message);
    }
}

}  // namespace

int cmd_plan_expect(const PlanExpectOptions& options) {
    answer::ExpectQuestion question = options.question;
    if (std::ranges::find(question.logs, "-") != question.logs.end()) {
        auto text = spec::read_file("/dev/stdin");
        if (!text) {
            return misuse(text.error());
        }
        if (text->empty()) {
            return misuse("standard input is empty: pipe a log into it, or name a file");
        }
        question.text = *std::move(text);
    }
    Progress progress(fmt::format("benchmarks on {}", question.cluster));
    const auto report =
        answer::expect(question, [&](std::size_t done, std::size_t all, const std::string& cause) {
            progress.bar(done, all, fmt::format("causes, {}", cause));
        });
    if (!report) {
        return misuse(report.error().text);
    }
    if (options.json) {
        fmt::print("{}", answer::to_json(*report));
    } else {
        print_report(*report);
    }
    return report->measured && report->diagnosis.off != 0 ? 1 : 0;
}

}  // namespace softib::app
