// SPDX-License-Identifier: BSD-2-Clause
// `softib plan goodput`.
#include "answer/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "app/cli/html_page.h"
#include "app/cli/output_files.h"
#include "app/cli/plan/goodput_options.h"
#include "app/cli/plan/page.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/text_file.h"
#include "app/fabric/term.h"
#include "plan/units.h"
#include "spec/description.h"

namespace softib::app {

namespace {

using answer::GoodputReport;
using answer::show_duration;
using Rows = std::vector<std::vector<std::string>>;

std::string percent_text(double part) {
    return fmt::format("{:.2f}", 100 * part);
}

std::string millions(const plan::Range& usd) {
    return fmt::format("{:.3g} to {:.3g}", usd.low / 1e6, usd.high / 1e6);
}

std::string title_of(const GoodputReport& report) {
    const answer::StepReport& step = report.step;
    return fmt::format(
        "{} on {} {} of {}, {} with failures", step.model.name, step.mapping.gpus,
        step.cluster.gpu.name, step.cluster.name,
        plan::counted(static_cast<std::uint64_t>(std::lround(report.job.horizon_s / (7 * 86'400))),
                      "week"));
}

std::vector<std::string> summary_of(const GoodputReport& report) {
    const plan::Distribution& ettr = report.goodput.ettr;
    const plan::Distribution& stops = report.goodput.interruptions;
    const plan::GoodputJob& job = report.job;
    std::vector<std::string> lines{
        fmt::format("effective training time {} %, {} to {} in 4 of 5 of {} (least {}, most {})",
                    percent_text(ettr.mean()), percent_text(ettr.percentile(10)),
                    percent_text(ettr.percentile(90)), plan::counted(report.runs, "run"),
                    percent_text(ettr.min()), percent_text(ettr.max())),
        fmt::format("{:.0f} interruptions that nobody planned, {:.0f} to {:.0f} in 4 of 5 runs: "
                    "one in {}; {} until the next step",
                    stops.mean(), stops.percentile(10), stops.percentile(90),
                    stops.mean() > 0 ? show_duration(job.horizon_s / stops.mean()) : "infinity",
                    show_duration(report.times.resume_s)),
        fmt::format(
            "a checkpoint of {} after {} of training{}: the job stops {}, storage writes {}",
            plan::show_size(static_cast<std::uint64_t>(job.checkpoint_bytes)),
            show_duration(job.interval()),
            job.interval_s > 0 ? "" : " (the interval that loses least)",
            show_duration(job.stall_s()), show_duration(job.write_s()))};
    if (report.step.tokens > 0) {
        const plan::TrainingRun run =
            plan::run_for(report.step.step, report.step.mapping, report.step.tokens);
        lines.push_back(fmt::format("{:.4g} B tokens: {:.1f} days, {:.1f} if nothing failed",
                                    report.step.tokens / 1e9, run.days / ettr.mean(), run.days));
    }
    return lines;
}

/// What time is lost by, each as a part of all time.
std::vector<std::pair<std::string, double>> lost_by(const GoodputReport& report) {
    const plan::RunResult& mean = report.goodput.mean;
    std::vector<std::pair<std::string, double>> parts{
        {"checkpoints", mean.checkpoint_s / report.job.horizon_s}};
    for (std::size_t i = 0; i < plan::kLosses; ++i) {
        const auto loss = static_cast<plan::LostBy>(i);
        parts.emplace_back(plan::to_string(loss), mean.lost(loss) / report.job.horizon_s);
    }
    std::ranges::stable_sort(parts, std::greater{}, &std::pair<std::string, double>::second);
    return parts;
}

/// Returns the kinds of failures in the order of the time that they lose.
std::vector<std::size_t> by_loss(const GoodputReport& report) {
    std::vector<std::size_t> order(report.goodput.mean.kinds.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater{},
                             [&](std::size_t i) { return report.goodput.mean.kinds[i].lost(); });
    return order;
}

const std::vector<std::string> kLostHeader{"lost by", "% of the time"};
Rows lost_rows(const GoodputReport& report) {
    Rows rows;
    for (const auto& [name, part] : lost_by(report)) {
        rows.push_back({name, percent_text(part)});
    }
    return rows;
}

const std::vector<std::string> kCauseHeader{"what fails", "failures", "stops",
                                            "% lost",     "repeated", "detection",
                                            "waiting",    "restart",  "slow links"};
Rows cause_rows(const GoodputReport& report) {
    Rows rows;
    for (const std::size_t i : by_loss(report)) {
        const plan::KindResult& mean = report.goodput.mean.kinds[i];
        if (report.job.failures.kinds[i].per_million_hours == 0) {
            continue;
        }
        std::vector<std::string>& row = rows.emplace_back();
        row = {report.job.failures.kinds[i].name, fmt::format("{:.1f}", mean.failures),
               fmt::format("{:.1f}", mean.interruptions),
               percent_text(mean.lost() / report.job.horizon_s)};
        for (const double lost : mean.lost_s) {
            row.push_back(lost > 0 ? percent_text(lost / report.job.horizon_s) : "-");
        }
    }
    return rows;
}

const std::vector<std::string> kRemedyHeader{"what would help", "% effective", "gain in points",
                                             "costs M$", "worth M$"};
Rows remedy_rows(const GoodputReport& report) {
    Rows rows;
    for (const answer::RemedyReport& each : report.remedies) {
        rows.push_back({each.name, percent_text(each.ettr), fmt::format("{:+.2f}", 100 * each.gain),
                        each.usd ? millions(*each.usd) : "-", millions(each.worth_usd)});
    }
    return rows;
}

constexpr char kWorth[] =
    "worth: what nodes and network cost that train as much more; costs: nodes alone, or for second "
    "NICs the network again; - where no price is known (storage, software, operations)";

std::string table_text(const std::vector<std::string>& header, const Rows& rows) {
    Table table(header);
    for (const auto& row : rows) {
        table.row(row);
    }
    return table.text() + "\n";
}

std::string to_text(const GoodputReport& report) {
    std::string text = title_of(report) + "\n\n";
    for (const std::string& line : summary_of(report)) {
        text += line + "\n";
    }
    text += "\n" + table_text(kLostHeader, lost_rows(report)) +
            table_text(kCauseHeader, cause_rows(report)) +
            table_text(kRemedyHeader, remedy_rows(report));
    text += fmt::format("- {}\n", kWorth);
    for (const std::string& note : report.notes) {
        text += fmt::format("- {}\n", note);
    }
    return text;
}

std::string to_html(const GoodputReport& report) {
    const plan::Distribution& ettr = report.goodput.ettr;
    const plan::Distribution& stops = report.goodput.interruptions;
    std::string page =
        page_head(title_of(report)) +
        tiles({{"Effective training time", percent_text(ettr.mean()) + " %",
                fmt::format("{} to {} in 4 of 5 of {}", percent_text(ettr.percentile(10)),
                            percent_text(ettr.percentile(90)), plan::counted(report.runs, "run"))},
               {"Interruptions", fmt::format("{:.0f}", stops.mean()),
                fmt::format("{:.0f} to {:.0f} in 4 of 5 runs", stops.percentile(10),
                            stops.percentile(90))},
               {"Checkpoint", show_duration(report.job.interval()), "of training before each"}});
    std::vector<std::pair<std::string, double>> bars;
    for (const auto& [name, part] : lost_by(report)) {
        bars.emplace_back(name, 100 * part);
    }
    page += panel("Where the time is lost", bar_plot(bars, "%"));
    bars.clear();
    for (const std::size_t i : by_loss(report)) {
        bars.emplace_back(report.job.failures.kinds[i].name,
                          100 * report.goodput.mean.kinds[i].lost() / report.job.horizon_s);
    }
    page += panel("Which failure takes it", bar_plot(bars, "%"));
    bars.clear();
    for (const answer::RemedyReport& each : report.remedies) {
        bars.emplace_back(each.name, 100 * std::max(0.0, each.gain));
    }
    std::string lines;
    for (const std::string& line : summary_of(report)) {
        lines += fmt::format("<p>{}</p>\n", escaped(line));
    }
    std::vector<std::string> basis{kWorth};
    basis.insert(basis.end(), report.notes.begin(), report.notes.end());
    return page + panel("What would help", bar_plot(bars, "points")) +
           panel("As tables", lines + page_table(kRemedyHeader, remedy_rows(report)) +
                                  page_table(kLostHeader, lost_rows(report)) +
                                  page_table(kCauseHeader, cause_rows(report))) +
           notes_html("What the figures stand on", basis) + page_foot();
}

}  // namespace

int cmd_plan_goodput(const GoodputOptions& options) {
    const answer::GoodputQuestion& question = options.question;
    const std::string& file = question.train.html;
    if (const auto checked =
            check_question(question.train, spec::TrainAsk::kTrain, spec::flag_name);
        !checked) {
        return misuse(checked.error());
    }
    if (const auto idle = find_idle_json(question.given, file)) {
        return misuse(*idle);
    }
    const OutputFile html{"--html", file};
    const std::vector<std::string> read{question.train.model, question.train.cluster,
                                        question.failures, question.prices};
    if (const int wrong = check_outputs({&html, 1}, read); wrong != 0) {
        return wrong;
    }
    Progress progress("timing the step");
    progress.tick();
    const auto report =
        answer::goodput(question, [&](std::size_t done, std::size_t all, const std::string& what) {
            progress.bar(done, all, fmt::format("{} of some weeks", what));
        });
    if (!report) {
        return refuse(report.error());
    }
    if (!file.empty()) {
        const int status = write_text(file, to_html(*report));
        if (status != 0 || file == "-") {
            return status;
        }
    }
    fmt::print("{}", options.json ? answer::to_json(*report) : to_text(*report));
    return 0;
}

}  // namespace softib::app
