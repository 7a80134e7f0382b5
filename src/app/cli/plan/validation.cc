// SPDX-License-Identifier: BSD-2-Clause
// `softib plan validate`.
#include "plan/validation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "app/cli/json_text.h"
#include "app/cli/plan/plan_commands.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

struct CheckedRow {
    plan::ValidationRow row;
    double ours = 0;
    bool held = false;
};

std::string number_text(double value) {
    return fmt::format("{:.5g}", value);
}

std::string tolerance_text(const plan::ValidationRow& row) {
    const double up = row.tolerance_up < 0 ? row.tolerance : row.tolerance_up;
    return row.tolerance == 0 && up == 0 ? "exact"
           : row.tolerance == up
               ? fmt::format("{:.3g} %", 100 * up)
               : fmt::format("-{:.3g} / +{:.3g} %", 100 * row.tolerance, 100 * up);
}

std::string markdown_of(const std::vector<CheckedRow>& all) {
    std::size_t held = 0;
    std::string table =
        "| row | what | with | expected | ours | error | tolerance | | source |\n"
        "|---|---|---|---|---|---|---|---|---|\n";
    std::string notes;
    for (const auto& [row, ours, holds] : all) {
        held += holds ? 1 : 0;
        table += fmt::format("| {} | {} | {} | {} {} | {} | {:+.1f} % | {} | {} | {} |\n", row.id,
                             row.claim, row.parameters, number_text(row.expected), row.unit,
                             number_text(ours), 100 * plan::error_of(row, ours),
                             tolerance_text(row), holds ? "met" : "**missed**", row.source);
        if (!row.note.empty()) {
            notes += fmt::format("- **{}**, {}{}: {}.\n", row.id, row.claim,
                                 row.fitted ? " (a constant is fitted on this row)"
                                 : holds    ? ""
                                            : " (missed)",
                                 row.note);
        }
    }
    return fmt::format(
        "# Validation\n\nThe planner against published numbers. `make validate` writes this page "
        "by `softib plan validate --markdown`; a row that is missed stays, with the reason below. "
        "Collectives of GPUs (C, B50 and on) and training steps (M) are timed on the flow model of "
        "the routed fabric, links and MPI on hosts (L2, L3, B14 to B31) and victims (B54 and on) "
        "on "
        "packets. {} of {} rows are met.\n\n{}\n## Fitted constants and misses\n\n{}",
        held, all.size(), table, notes);
}

Json json_of(const std::vector<CheckedRow>& all) {
    Json rows = Json::array();
    for (const auto& [row, ours, holds] : all) {
        rows.push_back({{"id", row.id},
                        {"claim", row.claim},
                        {"parameters", row.parameters},
                        {"expected", row.expected},
                        {"ours", ours},
                        {"error", plan::error_of(row, ours)},
                        {"unit", row.unit},
                        {"met", holds},
                        {"fitted", row.fitted},
                        {"source", row.source},
                        {"note", row.note}});
    }
    return {{"rows", std::move(rows)}};
}

}  // namespace

int cmd_plan_validate(const PlanValidateOptions& options) {
    if (options.markdown && options.json) {
        return misuse("--markdown and --json would both go to standard output: leave out one");
    }
    std::vector<CheckedRow> all;
    Progress progress("validating");
    std::vector<plan::ValidationRow> rows = plan::fabric_rows();
    std::ranges::move(plan::training_rows(), std::back_inserter(rows));
    for (const plan::ValidationRow& row : rows) {
        progress.bar(all.size(), rows.size(), fmt::format("rows, {}", row.id));
        const double ours = row.ours();
        all.push_back({row, ours, plan::holds(row, ours)});
    }
    if (options.markdown || options.json) {
        fmt::print("{}", options.json ? json_text(json_of(all)) : markdown_of(all));
        return 0;
    }
    Table table({"ROW", "WHAT", "EXPECTED", "OURS", "ERROR", "TOLERANCE", ""});
    for (const auto& [row, ours, holds] : all) {
        table.row({row.id, row.claim, number_text(row.expected) + " " + row.unit, number_text(ours),
                   fmt::format("{:+.1f} %", 100 * plan::error_of(row, ours)), tolerance_text(row),
                   holds ? "met" : painted("missed", Colour::kRed)});
    }
    fmt::print("{}", table.text());
    return 0;
}

}  // namespace softib::app
