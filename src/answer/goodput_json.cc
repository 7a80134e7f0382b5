// SPDX-License-Identifier: BSD-2-Clause
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <utility>

#include "answer/goodput.h"
#include "answer/json_text.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kLossKeys{"repeated", "detection", "waiting", "restart", "slow_links"};
static_assert(kLossKeys.size() == plan::kLosses);

Json spread_json(const plan::Distribution& values) {
    return {{"mean", values.mean()},        {"least", values.min()},
            {"p10", values.percentile(10)}, {"p50", values.percentile(50)},
            {"p90", values.percentile(90)}, {"most", values.max()}};
}

Json usd_json(const plan::Range& range) {
    return Json::array({std::round(range.low), std::round(range.high)});
}

Json causes_json(const GoodputReport& report) {
    const double all = report.job.horizon_s;
    Json causes = Json::array();
    for (std::size_t i = 0; i < report.job.failures.kinds.size(); ++i) {
        const plan::FailureKind& kind = report.job.failures.kinds[i];
        const plan::KindResult& mean = report.goodput.mean.kinds[i];
        Json lost = Json::object();
        for (std::size_t loss = 0; loss < plan::kLosses; ++loss) {
            lost[kLossKeys[loss]] = mean.lost_s[loss] / all;
        }
        causes.push_back({{"name", kind.name},
                          {"failures", mean.failures},
                          {"interruptions", mean.interruptions},
                          {"lost", mean.lost() / all},
                          {"lost_by", std::move(lost)},
                          {"of", plan::to_string(kind.of)},
                          {"per_million_hours", kind.per_million_hours},
                          {"source", kind.source}});
    }
    return causes;
}

Json remedies_json(const GoodputReport& report) {
    Json remedies = Json::array();
    for (const RemedyReport& each : report.remedies) {
        Json row = {{"name", each.name}, {"ettr", each.ettr}, {"gain", each.gain}};
        row["cost_usd"] = each.usd ? usd_json(*each.usd) : Json();
        row["worth_usd"] = usd_json(each.worth_usd);
        remedies.push_back(std::move(row));
    }
    return remedies;
}

Json checkpoint_json(const plan::GoodputJob& job) {
    return {{"bytes", job.checkpoint_bytes},    {"storage_bytes_per_s", job.storage_bytes_per_s},
            {"asynchronous", job.asynchronous}, {"interval_s", job.interval()},
            {"stall_s", job.stall_s()},         {"write_s", job.write_s()}};
}

}  // namespace

std::string to_json(const GoodputReport& report) {
    const plan::GoodputJob& job = report.job;
    const plan::RunResult& mean = report.goodput.mean;
    Json lost = {{"checkpoints", mean.checkpoint_s / job.horizon_s}};
    for (std::size_t loss = 0; loss < plan::kLosses; ++loss) {
        lost[kLossKeys[loss]] = mean.lost(static_cast<plan::LostBy>(loss)) / job.horizon_s;
    }
    Json json = {{"model", report.step.model.name},
                 {"cluster", report.step.cluster.name},
                 {"gpus", report.step.mapping.gpus},
                 {"nodes", job.nodes},
                 {"spares", job.spares},
                 {"failover", plan::to_string(job.failover)},
                 {"weeks", job.horizon_s / (7 * 86'400)},
                 {"runs", report.runs},
                 {"failure_seed", report.seed},
                 {"step_s", report.step.step.seconds},
                 {"ettr", spread_json(report.goodput.ettr)},
                 {"interruptions", spread_json(report.goodput.interruptions)},
                 {"between_interruptions_s",
                  std::isinf(report.times.between_s) ? Json() : Json(report.times.between_s)},
                 {"resume_s", report.times.resume_s},
                 {"closed_form", {{"daly", report.daly}, {"first_order", report.first_order}}},
                 {"checkpoint", checkpoint_json(job)},
                 {"slower_steps", job.slower},
                 {"lost", std::move(lost)},
                 {"causes", causes_json(report)},
                 {"remedies", remedies_json(report)}};
    if (report.step.tokens > 0) {
        const plan::TrainingRun run =
            plan::run_for(report.step.step, report.step.mapping, report.step.tokens);
        json["training"] = {{"tokens", report.step.tokens},
                            {"days_without_failures", run.days},
                            {"days", run.days / report.goodput.ettr.mean()}};
    }
    json["notes"] = report.notes;
    return json_text(json);
}

}  // namespace softib::answer
