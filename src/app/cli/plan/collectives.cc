// SPDX-License-Identifier: BSD-2-Clause
// `softib plan collective`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/collective.h"
#include "app/cli/html_page.h"
#include "app/cli/plan/collective_export.h"
#include "app/cli/plan/fabric_html.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app {

namespace {

using answer::TimedRow;

std::string rows_text(const std::vector<TimedRow>& rows) {
    Table table({"SIZE", "ALGORITHM", "PROTOCOL", "TIME us", "ALGBW GB/s", "BUSBW GB/s",
                 "SOFTWARE us", "FABRIC us", "NVLINK us"});
    for (const TimedRow& row : rows) {
        const plan::Timing& timing = row.timing;
        table.row({std::to_string(row.bytes), plan::to_string(row.algorithm),
                   plan::to_string(timing.protocol), fmt::format("{:.2f}", timing.us),
                   fmt::format("{:.2f}", timing.algbw), fmt::format("{:.2f}", timing.busbw),
                   fmt::format("{:.1f}", timing.software_us),
                   fmt::format("{:.1f}", timing.fabric_us),
                   fmt::format("{:.1f}", timing.nvlink_us)});
    }
    return table.text();
}

/// Returns a table with a row for each size and a column for each algorithm.
std::string size_table(const std::vector<TimedRow>& rows, const std::vector<Series>& series,
                       double plan::Timing::* what) {
    std::vector<std::string> header{"size"};
    std::map<std::uint64_t, std::vector<std::string>> lines;
    for (std::size_t i = 0; i < series.size(); ++i) {
        header.push_back(series[i].name);
        for (const TimedRow& row : rows) {
            std::vector<std::string>& line = lines[row.bytes];
            line.resize(series.size() + 1);
            line[0] = plan::show_size(row.bytes);
            if (series[i].name == plan::to_string(row.algorithm)) {
                line[i + 1] = fmt::format("{:.4g}", row.timing.*what);
            }
        }
    }
    std::vector<std::vector<std::string>> cells;
    for (const auto& [bytes, line] : lines) {
        cells.push_back(line);
    }
    return page_table(header, cells);
}

/// Returns the fabric during the quickest algorithm of the largest size, if messages cross it.
std::string fabric_panel(const answer::TimedCollective& timed) {
    const std::vector<TimedRow>& rows = timed.report.rows;
    const TimedRow* shown = nullptr;
    std::optional<plan::FabricLoad> load;
    for (const TimedRow& row : rows) {
        if (shown == nullptr || row.bytes > shown->bytes ||
            (row.bytes == shown->bytes && row.timing.us < shown->timing.us)) {
            if (auto found = timed.model->load(timed.report.op, row.algorithm, row.bytes,
                                               row.timing.protocol)) {
                load = std::move(found);
                shown = &row;
            }
        }
    }
    return load ? panel(fmt::format("The fabric during {} of {}", plan::to_string(shown->algorithm),
                                    plan::show_size(shown->bytes)),
                        fabric_picture(*load))
                : "";
}

std::string rows_html(const answer::TimedCollective& timed) {
    const answer::CollectiveReport& report = timed.report;
    const std::vector<TimedRow>& rows = report.rows;
    std::vector<Series> series;
    for (const TimedRow& row : rows) {
        const std::string name = plan::to_string(row.algorithm);
        auto found = std::ranges::find(series, name, &Series::name);
        if (found == series.end()) {
            found = series.insert(series.end(), {name, {}});
        }
        found->points.emplace_back(static_cast<double>(row.bytes), row.timing.busbw);
    }
    std::vector<std::string> notes = report.notes;
    notes.insert(notes.end(), report.assumptions.begin(), report.assumptions.end());
    notes.insert(notes.end(), report.evidence.begin(), report.evidence.end());
    return page_head(fmt::format("{} on {} ({} GPUs)", report.question.op, report.question.cluster,
                                 report.ranks)) +
           panel("Bus bandwidth by size", line_plot(series, "GB/s")) + fabric_panel(timed) +
           panel("busbw by size, GB/s", size_table(rows, series, &plan::Timing::busbw)) +
           panel("Time by size, us", size_table(rows, series, &plan::Timing::us)) +
           notes_html("What the figures stand on", notes) + page_foot();
}

/// Looks at all files that will be written. Returns the exit status, 0 if nothing is wrong.
int check_files(const PlanCollectiveOptions& options, const std::vector<trace::Export>& exports) {
    std::vector<OutputFile> written = trace::files_of(exports);
    written.insert(written.begin(), {"--json", options.json ? "-" : ""});
    written.push_back({"--html", options.html});
    return check_outputs(written, {&options.question.cluster, 1});
}

int print_report(const PlanCollectiveOptions& options, const answer::TimedCollective& timed) {
    const answer::CollectiveReport& report = timed.report;
    if (!options.html.empty()) {
        const int status = write_text(options.html, rows_html(timed));
        if (status != 0 || options.html == "-") {
            return status;
        }
    }
    if (std::ranges::find(options.exports, "csv=-") != options.exports.end()) {
        return 0;
    }
    if (options.json) {
        fmt::print("{}", answer::to_json(report));
        return 0;
    }
    fmt::print("{} on {}, {} ranks\n\n{}\n", report.question.op, report.question.cluster,
               report.ranks, rows_text(report.rows));
    for (const auto* const lines : {&report.assumptions, &report.evidence}) {
        for (const std::string& line : *lines) {
            fmt::print("- {}\n", line);
        }
    }
    for (const std::string& message : report.notes) {
        note(message);
    }
    return 0;
}

}  // namespace

int cmd_plan_collective(const PlanCollectiveOptions& options) {
    const answer::CollectiveQuestion& question = options.question;
    if (question.cluster.empty()) {
        return misuse("say which cluster: --cluster NAME (see: softib plan presets)");
    }
    const auto exports = trace::read_exports(options.exports);
    if (!exports) {
        return misuse(exports.error());
    }
    if (const auto why = why_no_export(question); why && !exports->empty()) {
        return misuse(*why);
    }
    if (const auto idle = find_idle_json(question.given, options.html)) {
        return misuse(*idle);
    }
    if (const int wrong = check_files(options, *exports); wrong != 0) {
        return wrong;
    }
    Progress progress(fmt::format("{} on {}: routing", question.op, question.cluster));
    const auto timed = answer::time_collective(
        question,
        [&](std::size_t done, std::size_t all, const std::string& algorithm) {
            progress.bar(
                done, all,
                fmt::format("times of {} on {}, {}", question.op, question.cluster, algorithm));
        },
        !exports->empty());
    if (!timed) {
        return refuse(timed.error());
    }
    const answer::CollectiveReport& report = timed->report;
    if (!exports->empty()) {
        const int status = export_operation(*exports, *timed->model, report.op,
                                            report.rows[0].algorithm, report.rows[0].bytes);
        if (status != 0) {
            return status;
        }
    }
    return print_report(options, *timed);
}

}  // namespace softib::app
