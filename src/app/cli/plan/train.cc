// SPDX-License-Identifier: BSD-2-Clause
// `softib plan train`, `search` and `models`.
#include "answer/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "app/cli/plan/page.h"
#include "app/cli/plan/train_options.h"
#include "app/cli/plan/train_report.h"
#include "app/cli/sim/interrupt.h"
#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "plan/trace/training.h"
#include "plan/train/timeline.h"
#include "spec/description.h"

namespace softib::app {

namespace {

/// Writes the messages of a step. Ranks are on the cluster's GPUs in their order. Returns the exit
/// status.
int export_step(const spec::TrainQuestion& question, const std::vector<trace::Export>& exports,
                const answer::TimedStep& timed) {
    const answer::StepReport& report = timed.report;
    const plan::Mapping& mapping = report.mapping;
    const char* const unknown = mapping.etp > 1                                   ? "--etp"
                                : mapping.instances() > 1                         ? "--hsdp"
                                : mapping.cp_comm != plan::ContextExchange::kRing ? "--cp-comm"
                                                                                  : nullptr;
    if (unknown != nullptr) {
        return fail(fmt::format("--export has no messages of {}: leave one of them out", unknown));
    }
    const auto job =
        plan::trace::job_of_step(report.model, report.cluster, report.mapping, report.step,
                                 *timed.network, {.layers_together = question.export_layers});
    if (!job) {
        return fail(fmt::format(
            "{}: put those of several layers together, as --export-layers {}, leave them in the "
            "time of passes by --export-layers 0, or take a smaller --batch or fewer --gpus",
            job.error(), std::max(2 * question.export_layers, 2U)));
    }
    std::vector<std::uint32_t> gpus(report.mapping.gpus);
    std::iota(gpus.begin(), gpus.end(), 0U);
    return trace::export_job(exports, report.cluster, *job, std::move(gpus));
}

/// Looks at all files that will be written. Returns the exit status, 0 if nothing is wrong.
int check_files(const TrainOptions& options, const std::vector<trace::Export>& exports) {
    const spec::TrainQuestion& question = options.question;
    if (!exports.empty() && question.placed_randomly) {
        return misuse(
            "--export has ranks in the order of the cluster's GPUs: leave out --placement");
    }
    std::vector<OutputFile> written = trace::files_of(exports);
    written.insert(written.begin(), {"--json", options.json ? "-" : ""});
    written.push_back({"--trace", question.trace});
    written.push_back({"--html", question.html});
    const std::vector<std::string> read{question.model, question.cluster};
    return check_outputs(written, read);
}

std::string stage_text(plan::SearchStage stage, const std::string& network) {
    switch (stage) {
        case plan::SearchStage::kSorting:
            return "mappings sorted";
        case plan::SearchStage::kTiming:
            return "mappings";
        case plan::SearchStage::kFabric:
            break;
    }
    return fmt::format("mappings on the {} model", network);
}

}  // namespace

int cmd_plan_train(const TrainOptions& options) {
    const spec::TrainQuestion& question = options.question;
    if (auto checked = check_question(question, spec::TrainAsk::kTrain, spec::flag_name);
        !checked) {
        return misuse(checked.error());
    }
    const auto exports = trace::read_exports(question.exports);
    if (!exports) {
        return misuse(exports.error());
    }
    if (const int wrong = check_files(options, *exports); wrong != 0) {
        return wrong;
    }
    Progress progress(fmt::format("timing exchanges on the {} model", question.network));
    progress.tick();
    const auto timed = answer::time_step(question);
    if (!timed) {
        return fail(timed.error());
    }
    const answer::StepReport& report = timed->report;
    int status = 0;
    if (!exports->empty()) {
        if (const int failed = export_step(question, *exports, *timed); failed != 0) {
            return failed;
        }
    }
    if (!question.trace.empty()) {
        status |= write_text(question.trace, plan::chrome_trace(report.step));
    }
    if (!question.html.empty()) {
        status |= write_text(question.html, train::to_html(report, answer::load_of(*timed)));
    }
    if (question.trace != "-" && question.html != "-") {
        fmt::print("{}", options.json ? answer::to_json(report) : train::to_text(report));
    }
    return status;
}

int cmd_plan_search(const TrainOptions& options) {
    const spec::TrainQuestion& question = options.question;
    if (auto checked = check_question(question, spec::TrainAsk::kSearch, spec::flag_name);
        !checked) {
        return misuse(checked.error());
    }
    if (const int wrong = check_files(options, {}); wrong != 0) {
        return wrong;
    }
    const sim::InterruptWatch interrupt;
    Progress progress("searching");
    const auto found = answer::search(
        question, {.stop = [&] { return interrupt.interrupted(); },
                   .tell =
                       [&](plan::SearchStage stage, std::size_t done, std::size_t all) {
                           progress.bar(done, all, stage_text(stage, question.network));
                       }});
    if (!found) {
        return fail(found.error());
    }
    int status = 0;
    if (!question.html.empty()) {
        status = write_text(question.html, train::to_html(*found));
    }
    if (question.html != "-") {
        fmt::print("{}", options.json ? answer::to_json(*found) : train::to_text(*found));
    }
    return status;
}

int cmd_plan_models(const TrainOptions& options) {
    fmt::print("{}", options.json ? answer::models_json() : train::models_text());
    return 0;
}

}  // namespace softib::app
