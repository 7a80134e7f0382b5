// SPDX-License-Identifier: BSD-2-Clause
#include "plan/goodput/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "plan/goodput/closed_form.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

template <typename Values>
double sum(const Values& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Returns the nodes that are under repair on average.
double mean_repaired(const GoodputJob& job) {
    double nodes = 0;
    for (const FailureKind& kind : job.failures.kinds) {
        if (kind.loses != Loses::kNothing && interrupts(job, kind)) {
            nodes += rate_of(job, kind) * kHourS *
                     (kind.replaced * job.failures.replace_hours +
                      (1 - kind.replaced) * job.failures.reset_hours);
        }
    }
    return nodes;
}

/// Returns whether the job has failures for which `holds` is true.
template <typename Holds>
bool any_kind(const GoodputJob& job, Holds holds) {
    return std::ranges::any_of(job.failures.kinds, [&](const FailureKind& kind) {
        return kind.per_million_hours > 0 && holds(kind);
    });
}

void add_spares(const GoodputJob& job, std::vector<Remedy>& remedies) {
    const double repaired = mean_repaired(job);
    if (repaired <= 0) {
        return;
    }
    // As many as are under repair at once in all but one of a thousand moments.
    const auto enough = static_cast<std::uint32_t>(std::ceil(repaired + 3 * std::sqrt(repaired)));
    for (const std::uint32_t more : {1U, enough > job.spares ? enough - job.spares : 1U}) {
        if (remedies.empty() || remedies.back().more_spares != more) {
            Remedy& remedy = remedies.emplace_back();
            remedy.name = counted(more, "more spare node");
            remedy.job = job;
            remedy.job.spares += more;
            remedy.more_spares = more;
        }
    }
}

void add_failover(const GoodputJob& job, std::vector<Remedy>& remedies) {
    const bool links = any_kind(job, [](const FailureKind& kind) {
        return kind.loses == Loses::kLink || kind.loses == Loses::kNic;
    });
    if (!links || job.failover != Failover::kNone) {
        return;
    }
    Remedy rail{.name = job.nics_per_node > 1 ? "a NIC's traffic moves to another NIC of the node"
                                              : "a second NIC in each node, for fail-over",
                .job = job,
                .more_nics = job.nics_per_node == 1};
    rail.job.failover = Failover::kRail;
    rail.job.nics_per_node = std::max(job.nics_per_node, 2U);
    remedies.push_back(std::move(rail));
}

}  // namespace

const char* to_string(Failover failover) {
    constexpr std::array kNames{"none", "plane", "rail"};
    return kNames[static_cast<std::size_t>(failover)];
}

const char* to_string(LostBy loss) {
    constexpr std::array kNames{"repeated work", "detection", "waiting for a node", "restart",
                                "slow links"};
    return kNames[static_cast<std::size_t>(loss)];
}

double GoodputJob::interval() const {
    const double best =
        interval_s > 0 ? interval_s : daly_interval(stall_s(), failure_times(*this).between_s);
    // A checkpoint begins between two steps, and when the one before has been written.
    const double least = std::max(step_s, asynchronous ? write_s() : 0);
    return std::clamp(best, std::min(least, horizon_s), std::max(least, horizon_s));
}

std::uint32_t GoodputJob::paths() const {
    switch (failover) {
        case Failover::kPlane:
            return planes;
        case Failover::kRail:
            return nics_per_node;
        case Failover::kNone:
            break;
    }
    return 1;
}

double rate_of(const GoodputJob& job, const FailureKind& kind) {
    double count = 1;
    switch (kind.of) {
        case FailureOf::kGpu:
            count = static_cast<double>(job.nodes) * job.gpus_per_node;
            break;
        case FailureOf::kNic:
            count = static_cast<double>(job.nodes) * job.nics_per_node;
            break;
        case FailureOf::kNode:
            count = job.nodes;
            break;
        case FailureOf::kJob:
            break;
    }
    return count * kind.per_million_hours / 1e6 / kHourS;
}

bool interrupts(const GoodputJob& job, const FailureKind& kind) {
    const bool fails_over = kind.loses == Loses::kLink ||
                            (kind.loses == Loses::kNic && job.failover == Failover::kRail);
    return !fails_over || job.paths() < 2;
}

double KindResult::lost() const {
    return sum(lost_s);
}

double RunResult::lost(LostBy loss) const {
    double lost = 0;
    for (const KindResult& kind : kinds) {
        lost += kind.lost_s[static_cast<std::size_t>(loss)];
    }
    return lost;
}

double RunResult::interruptions() const {
    double count = 0;
    for (const KindResult& kind : kinds) {
        count += kind.interruptions;
    }
    return count;
}

Goodput summarize(const GoodputJob& job, const std::vector<RunResult>& runs) {
    Goodput result;
    std::vector<double> ettr;
    std::vector<double> interruptions;
    result.mean.kinds.resize(job.failures.kinds.size());
    const double part = 1.0 / static_cast<double>(runs.size());
    for (const RunResult& run : runs) {
        ettr.push_back(run.productive_s / job.horizon_s);
        result.mean.productive_s += part * run.productive_s;
        result.mean.checkpoint_s += part * run.checkpoint_s;
        double unplanned = 0;
        for (std::size_t i = 0; i < run.kinds.size(); ++i) {
            const KindResult& kind = run.kinds[i];
            KindResult& mean = result.mean.kinds[i];
            unplanned += job.failures.kinds[i].planned ? 0 : kind.interruptions;
            mean.failures += part * kind.failures;
            mean.interruptions += part * kind.interruptions;
            for (std::size_t loss = 0; loss < kLosses; ++loss) {
                mean.lost_s[loss] += part * kind.lost_s[loss];
            }
        }
        interruptions.push_back(unplanned);
    }
    result.ettr = Distribution(std::move(ettr));
    result.interruptions = Distribution(std::move(interruptions));
    return result;
}

std::vector<Remedy> remedies_for(const GoodputJob& job) {
    std::vector<Remedy> remedies;
    add_spares(job, remedies);
    const auto add = [&](std::string name, auto change) {
        Remedy& remedy = remedies.emplace_back();
        remedy.name = std::move(name);
        remedy.job = job;
        change(remedy.job);
    };
    if (job.checkpoint_bytes > 0) {
        add("storage twice as fast", [](GoodputJob& j) { j.storage_bytes_per_s *= 2; });
        if (!job.asynchronous) {
            add("asynchronous checkpoints", [](GoodputJob& j) { j.asynchronous = true; });
        }
    }
    add_failover(job, remedies);
    const auto noticed = [&](bool hangs) {
        return any_kind(job,
                        [hangs](const FailureKind& k) { return !k.planned && k.hangs == hangs; });
    };
    if (noticed(false) && job.detect_s > 0) {
        add("failures noticed in half the time", [](GoodputJob& j) { j.detect_s /= 2; });
    }
    if (noticed(true) && job.timeout_s > 0) {
        add("half the timeout of collectives", [](GoodputJob& j) { j.timeout_s /= 2; });
    }
    if (job.restart_s > 0) {
        add("restarts in half the time", [](GoodputJob& j) { j.restart_s /= 2; });
    }
    return remedies;
}

}  // namespace softib::plan
