// SPDX-License-Identifier: BSD-2-Clause
// `softib plan compare`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "answer/comparison.h"
#include "app/cli/html_page.h"
#include "app/cli/output_files.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"
#include "plan/compare/comparison.h"
#include "run/csv.h"
#include "spec/description.h"

namespace softib::app {

namespace {

bool has_notes(const plan::Comparison& comparison) {
    return std::ranges::any_of(comparison.rows, [](const auto& row) { return !row.note.empty(); });
}

bool has_mappings(const plan::Comparison& comparison) {
    return std::ranges::any_of(comparison.rows,
                               [](const auto& row) { return !row.mapping.empty(); });
}

std::vector<std::string> header_of(const plan::Comparison& comparison) {
    std::vector<std::string> header{comparison.first_column};
    header.insert(header.end(), comparison.columns.begin(), comparison.columns.end());
    if (has_mappings(comparison)) {
        header.emplace_back("mapping");
    }
    if (has_notes(comparison)) {
        header.emplace_back("note");
    }
    return header;
}

std::vector<std::string> cells_of(const plan::Comparison& comparison,
                                  const plan::ComparisonRow& row) {
    std::vector<std::string> cells{row.name};
    for (std::size_t i = 0; i < comparison.columns.size(); ++i) {
        cells.push_back(i < row.values.size() ? fmt::format("{:.5g}", row.values[i]) : "-");
    }
    if (has_mappings(comparison)) {
        cells.push_back(row.mapping.empty() ? "-" : row.mapping);
    }
    if (has_notes(comparison)) {
        cells.push_back(row.note);
    }
    return cells;
}

std::string comparison_csv(const plan::Comparison& comparison) {
    std::string text = run::csv_cell(comparison.first_column);
    for (const std::string& column : comparison.columns) {
        text += "," + run::csv_cell(column);
    }
    text += ",mapping,note\n";
    for (const plan::ComparisonRow& row : comparison.rows) {
        text += run::csv_cell(row.name);
        for (std::size_t i = 0; i < comparison.columns.size(); ++i) {
            text += "," + (i < row.values.size() ? run::csv_number(row.values[i]) : "");
        }
        text += fmt::format(",{},{}\n", run::csv_cell(row.mapping), run::csv_cell(row.note));
    }
    return text;
}

std::string comparison_text(const plan::Comparison& comparison) {
    Table table(header_of(comparison));
    for (const plan::ComparisonRow& row : comparison.rows) {
        table.row(cells_of(comparison, row));
    }
    std::string text = comparison.title + "\n\n" + table.text() + "\n";
    for (const std::string& each : comparison.notes) {
        text += fmt::format("- {}\n", each);
    }
    return text;
}

/// Returns a plot with a line for each column of times, over the sizes of the rows.
std::string lines_by_size(const plan::Comparison& comparison) {
    std::vector<Series> series;
    for (std::size_t i = 0; i < comparison.columns.size(); ++i) {
        if (!comparison.columns[i].ends_with(" us")) {
            continue;
        }
        Series& each = series.emplace_back(Series{comparison.columns[i], {}});
        for (const plan::ComparisonRow& row : comparison.rows) {
            if (i < row.values.size()) {
                each.points.emplace_back(static_cast<double>(row.bytes), row.values[i]);
            }
        }
    }
    return line_plot(series, "us");
}

std::string bars_by_row(const plan::Comparison& comparison) {
    std::string page;
    for (std::size_t i = 0; i < comparison.columns.size(); ++i) {
        std::vector<std::pair<std::string, double>> bars;
        for (const plan::ComparisonRow& row : comparison.rows) {
            if (i < row.values.size()) {
                bars.emplace_back(row.name, row.values[i]);
            }
        }
        page += fmt::format("<div><h3>{}</h3>\n{}</div>\n", escaped(comparison.columns[i]),
                            bar_plot(bars, ""));
    }
    return panel("Side by side", "<div class=\"multiples\">\n" + page + "</div>\n");
}

/// Returns a plot of what a network costs against what it does, if the comparison has both.
std::string cost_plot(const plan::Comparison& comparison) {
    const auto column = [&](std::string_view name) {
        return static_cast<std::size_t>(std::ranges::find(comparison.columns, name) -
                                        comparison.columns.begin());
    };
    const std::size_t low = column("M$ from");
    const std::size_t high = column("M$ to");
    std::size_t what = column("step s");
    const bool steps = what < comparison.columns.size();
    what = steps ? what : column("all-to-all GB/s");
    if (std::max({low, high, what}) >= comparison.columns.size()) {
        return "";
    }
    std::vector<ScatterPoint> points;
    for (const plan::ComparisonRow& row : comparison.rows) {
        if (row.values.size() <= std::max({low, high, what})) {
            continue;
        }
        points.push_back(
            {.x = (row.values[low] + row.values[high]) / 2,
             .y = row.values[what],
             .name = row.name,
             .tag = row.name,
             .detail = fmt::format("{} {:.4g}; M$ {:.3g} to {:.3g}", comparison.columns[what],
                                   row.values[what], row.values[low], row.values[high]),
             .x_low = row.values[low],
             .x_high = row.values[high]});
    }
    return panel(steps ? "What a cluster costs, and what a step takes"
                       : "What the network costs, and what it does",
                 scatter_plot(points, {.x_name = steps ? "cluster, M$" : "network, M$",
                                       .y_name = comparison.columns[what],
                                       .more_is_better = !steps}) +
                     "<p class=\"muted\">Green: no other costs less and does as much (the Pareto "
                     "front). A point is in the middle of its range of prices.</p>\n");
}

std::string comparison_html(const plan::Comparison& comparison) {
    std::vector<std::vector<std::string>> rows;
    for (const plan::ComparisonRow& row : comparison.rows) {
        rows.push_back(cells_of(comparison, row));
    }
    const bool by_size = !comparison.rows.empty() && comparison.rows.front().bytes != 0;
    return page_head(comparison.title) + cost_plot(comparison) +
           (by_size ? panel("Time by size, us", lines_by_size(comparison))
                    : bars_by_row(comparison)) +
           panel("As a table", page_table(header_of(comparison), rows)) +
           notes_html("What the figures stand on", comparison.notes) + page_foot();
}

}  // namespace

int cmd_plan_compare(const PlanCompareOptions& options) {
    const answer::CompareQuestion& question = options.question;
    for (const std::string& file : {options.html, options.csv}) {
        if (const auto idle = find_idle_json(question.given, file)) {
            return misuse(*idle);
        }
    }
    if (const auto acts = check_question(question.job, spec::TrainAsk::kTrain, spec::flag_name);
        !acts && !question.train.empty()) {
        return misuse(acts.error());
    }
    const std::array written{OutputFile{"--html", options.html}, OutputFile{"--csv", options.csv}};
    const std::vector<std::string> read{question.cluster, question.prices, question.train};
    if (const int wrong = check_outputs(written, read); wrong != 0) {
        return wrong;
    }
    const std::string what = question.what.empty() ? "training" : question.what;
    Progress progress(what);
    const auto comparison =
        answer::compare(question, [&](std::size_t done, std::size_t all, const std::string& name) {
            progress.bar(done, all, fmt::format("rows of {}, {}", what, name));
        });
    if (!comparison) {
        return refuse(comparison.error());
    }
    int status = 0;
    if (!options.csv.empty()) {
        status |= write_text(options.csv, comparison_csv(*comparison));
    }
    if (!options.html.empty()) {
        status |= write_text(options.html, comparison_html(*comparison));
    }
    if (status != 0 || options.html == "-" || options.csv == "-") {
        return status;
    }
    fmt::print("{}", options.json ? answer::to_json(*comparison) : comparison_text(*comparison));
    return 0;
}

}  // namespace softib::app
