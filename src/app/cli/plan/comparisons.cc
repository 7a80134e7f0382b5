// SPDX-License-Identifier: BSD-2-Clause
// `softib plan compare`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/html_page.h"
#include "app/cli/json_text.h"
#include "app/cli/output_files.h"
#include "app/cli/plan/idle_options.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"
#include "plan/compare/comparison.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kCompareCluster[] = "superpod-h100:2";
/// Size of the KV cache of 128k tokens of Llama 3 70B, at 320 KiB a token.
constexpr std::uint64_t kKvCacheBytes = 40ULL << 30;

bool has_notes(const plan::Comparison& comparison) {
    return std::ranges::any_of(comparison.rows, [](const auto& row) { return !row.note.empty(); });
}

std::vector<std::string> header_of(const plan::Comparison& comparison) {
    std::vector<std::string> header{comparison.first_column};
    header.insert(header.end(), comparison.columns.begin(), comparison.columns.end());
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
    if (has_notes(comparison)) {
        cells.push_back(row.note);
    }
    return cells;
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
    return line_plot(series, "");
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
        page += fmt::format("<h2>{}</h2>\n", escaped(comparison.columns[i])) + bar_plot(bars, "");
    }
    return page;
}

std::string comparison_html(const plan::Comparison& comparison) {
    std::vector<std::vector<std::string>> rows;
    for (const plan::ComparisonRow& row : comparison.rows) {
        rows.push_back(cells_of(comparison, row));
    }
    std::string page = page_head(comparison.title) + page_table(header_of(comparison), rows);
    const bool by_size = !comparison.rows.empty() && comparison.rows.front().bytes != 0;
    page += by_size ? lines_by_size(comparison) : bars_by_row(comparison);
    for (const std::string& each : comparison.notes) {
        page += fmt::format("<p class=\"note\">{}</p>\n", escaped(each));
    }
    return page + kPageFoot;
}

Json comparison_json(const plan::Comparison& comparison) {
    Json rows = Json::array();
    for (const plan::ComparisonRow& row : comparison.rows) {
        Json values = Json::object();
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            values[comparison.columns[i]] = row.values[i];
        }
        rows.push_back({{"name", row.name}, {"values", std::move(values)}, {"note", row.note}});
    }
    return {{"title", comparison.title}, {"rows", std::move(rows)}, {"notes", comparison.notes}};
}

}  // namespace

int cmd_plan_compare(const PlanCompareOptions& options) {
    if (const auto idle = find_idle_option(options)) {
        return misuse(*idle);
    }
    auto cluster = spec::find_cluster(options.cluster.empty() ? kCompareCluster : options.cluster,
                                      options.nodes);
    if (!cluster) {
        return fail_describing(cluster.error());
    }
    const OutputFile html{"--html", options.html};
    const std::vector<std::string> read{options.cluster, options.prices};
    if (const int wrong = check_outputs({&html, 1}, read); wrong != 0) {
        return wrong;
    }
    if (const auto idle = find_idle_option(options, *cluster)) {
        return misuse(*idle);
    }
    plan::CompareRequest request;
    request.cluster = *std::move(cluster);
    request.model = options.model == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow;
    if (options.what == "kv-cache") {
        request.bytes = kKvCacheBytes;
    }
    if (!options.prices.empty()) {
        auto prices = spec::load_prices(options.prices);
        if (!prices) {
            return fail(prices.error());
        }
        request.prices = *std::move(prices);
    }
    if (!options.size.empty()) {
        const auto size = plan::parse_size(options.size);
        if (!size || *size == 0) {
            return misuse(fmt::format("--size {}: write a size as 1GB", options.size));
        }
        request.bytes = *size;
    }
    Progress progress(options.what);
    request.progress = [&](std::size_t done, std::size_t all, const std::string& name) {
        progress.bar(done, all, fmt::format("rows of {}, {}", options.what, name));
    };
    const auto comparison = plan::compare(options.what, request);
    if (!comparison) {
        return misuse(comparison.error());
    }
    if (!options.html.empty()) {
        const int status = write_text(options.html, comparison_html(*comparison));
        if (status != 0 || options.html == "-") {
            return status;
        }
    }
    fmt::print("{}", options.json ? json_text(comparison_json(*comparison))
                                  : comparison_text(*comparison));
    return 0;
}

}  // namespace softib::app
