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
#include "plan/train/measured.h"

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

/// Returns the errors of measured steps in the form of plan/train/errors.toml.
std::string errors_toml(const std::vector<plan::StepError>& errors) {
    std::string text =
        "# SPDX-License-Identifier: BSD-2-Clause\n"
        "# The error of each measured step (steps/), ours divided by measured less 1, when the "
        "constants of\n# the planner are fitted on all other steps. Written by "
        "'softib plan validate --errors'.\n# Values that fit all steps:";
    const std::vector<double> fitted = plan::fit_constants();
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        const plan::FittedConstant& each = plan::fitted_constants()[i];
        text += fmt::format("\n# - {} ({}): {:.4g}", each.name,
                            each.generation.empty() ? "all rates" : each.generation, fitted[i]);
    }
    text += "\n";
    for (const plan::StepError& each : errors) {
        text += fmt::format("{} = {:.4f}\n", each.step->id, each.leave_one_out);
    }
    return text;
}

/// Returns the table of constants against steps, and that of errors by kind.
std::string errors_markdown(const std::vector<plan::StepError>& errors) {
    std::string text = fmt::format(
        "\n## Measured steps, each without itself\n\n{} constants are fitted on {} steps. An "
        "answer's interval is from the last column: the error of a step when the constants are "
        "fitted on all others (exchanges by rates and latencies alone).\n\n"
        "| constant | rates | value |\n|---|---|---|\n",
        plan::fitted_constants().size(), errors.size());
    for (const plan::FittedConstant& each : plan::fitted_constants()) {
        const std::string_view generation =
            each.generation.empty() || each.generation.contains("blackwell")
                ? std::string_view("blackwell")
                : each.generation;
        const auto rates = std::ranges::find(plan::rates_presets(), generation, &plan::Rates::name);
        plan::Rates copy = *rates;
        text += fmt::format("| `{}` | {} | {} |\n", each.name,
                            each.generation.empty() ? "all" : each.generation, each.of(copy));
    }
    text += "\n| step | what | kind | error | error without itself |\n|---|---|---|---|---|\n";
    for (const plan::StepError& each : errors) {
        text += fmt::format("| {} | {} | {} | {:+.1f} % | {:+.1f} % |\n", each.step->id,
                            each.step->what, plan::describe(each.kind), 100 * each.in_sample,
                            100 * each.leave_one_out);
    }
    text += "\n| kind | steps | median | 90th percentile |\n|---|---|---|---|\n";
    for (const plan::ErrorsOfKind& each : plan::by_kind(errors)) {
        text += fmt::format("| {} | {} | {:.1f} % | {:.1f} % |\n", each.kind, each.steps,
                            100 * each.median, 100 * each.percentile90);
    }
    text +=
        "\nRatios of two steps of one submitter, with the constants above; met is within 3 "
        "points.\n\n| ratio | steps | measured | ours | points | |\n|---|---|---|---|---|---|\n";
    for (const plan::StepRatio& each : plan::step_ratios(errors)) {
        text += fmt::format("| {} | {} / {} | {:+.1f} % | {:+.1f} % | {:+.1f} | {} |\n",
                            each.pair->what, each.pair->step, each.pair->over,
                            100 * (each.measured - 1), 100 * (each.ours - 1),
                            100 * (each.ours - each.measured), each.met() ? "met" : "**missed**");
    }
    return text;
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
        "Collectives of GPUs (C, B50 and on) and training steps (M, S) are timed on the flow model "
        "of "
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
    if (options.markdown + options.json + options.errors > 1) {
        return misuse(
            "--markdown, --json and --errors would all go to standard output: leave out all but "
            "one");
    }
    if (options.errors) {
        const Progress progress("fitting constants without each step");
        fmt::print("{}", errors_toml(plan::step_errors()));
        return 0;
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
        fmt::print("{}", options.json ? json_text(json_of(all))
                                      : markdown_of(all) + errors_markdown(plan::step_errors()));
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
