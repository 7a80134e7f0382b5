// SPDX-License-Identifier: BSD-2-Clause
#include "plan/expect/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace softib::plan {

namespace {

/// A fault is named if it explains at least this part of the difference.
constexpr double kExplainsLeast = 0.5;
/// Faults whose rests differ by less than this are as likely as each other.
constexpr double kSameRest = 0.05;
/// What a fact that speaks for a fault, or against it, makes of its rest.
constexpr double kSpokenFor = 0.5;
constexpr double kSpokenAgainst = 4;
constexpr std::size_t kNamedMost = 5;
/// A fault is not named if another explains this much more.
constexpr double kMuchMore = 0.2;
// Two faults are tried together if the best one alone leaves more than this. One of them is among
// the best few of those that explain something alone. Since two explain more than one in any case,
// they must explain nearly all, and leave little of what one leaves.
constexpr double kLeavesMuch = 0.4;
constexpr double kPairedLeast = 0.1;
constexpr std::size_t kPairedMost = 4;
constexpr double kPairExplainsLeast = 0.9;
constexpr double kPairLeavesMost = 0.6;
/// The furthest that a row counts, so that one outlier does not decide alone.
constexpr double kFurthest = 20;

/// Returns the geometric mean of the values of a row; std::nullopt if it has none.
std::optional<double> mean_of(const MeasuredRow& row) {
    double sum = 0;
    int count = 0;
    for (const auto& value : row.values) {
        if (value && *value > 0) {
            sum += std::log(*value);
            ++count;
        }
    }
    return count == 0 ? std::nullopt : std::optional(std::exp(sum / count));
}

/// Returns how many times slower a row is than a value; 0 if it has no value.
double slower_than(const Benchmark& benchmark, const MeasuredRow& row, double expected) {
    const auto measured = mean_of(row);
    if (!measured || expected <= 0) {
        return 0;
    }
    return benchmark.is_bandwidth() ? expected / *measured : *measured / expected;
}

Verdict judge(const Benchmark& benchmark, const MeasuredRow& row, const Expected& expected) {
    if (row.wrong != 0) {
        return Verdict::kWrong;
    }
    bool slow = false;
    bool fast = false;
    for (const auto& value : row.values) {
        const bool above = value && *value > expected.high;
        const bool below = value && *value < expected.low;
        slow = slow || (benchmark.is_bandwidth() ? below : above);
        fast = fast || (benchmark.is_bandwidth() ? above : below);
    }
    return slow ? Verdict::kSlow : fast ? Verdict::kFast : Verdict::kOk;
}

/// Returns the distance of a row from a value, in half widths of its interval towards the slow end.
double distance(const Benchmark& benchmark, const JudgedRow& row, double value) {
    const double slower = slower_than(benchmark, row.measured, value);
    if (slower <= 0) {
        return 0;
    }
    const Expected& expected = row.expected;
    const double width =
        benchmark.is_bandwidth() ? expected.value / expected.low : expected.high / expected.value;
    return std::clamp(std::log(slower) / std::log(width), -kFurthest, kFurthest);
}

JudgedTable judge_table(const Setting& setting, Run run) {
    const Benchmark& benchmark = *run.table.benchmark;
    JudgedTable judged{.run = std::move(run)};
    const auto expectation =
        Expectation::make(in_run(setting, benchmark.tool, judged.run.nodes, judged.run.per_node),
                          benchmark, judged.run.table.gpu_memory);
    if (!expectation) {
        judged.left_out = expectation.error();
        return judged;
    }
    for (const MeasuredRow& row : judged.run.table.rows) {
        const auto expected = expectation->of(row.bytes);
        if (!expected) {
            judged.left_out = expected.error();
            judged.rows.clear();
            return judged;
        }
        judged.rows.push_back({row, *expected, judge(benchmark, row, *expected),
                               slower_than(benchmark, row, expected->value)});
    }
    return judged;
}

/// What is left between measured rows and those of a fault.
struct Rest {
    double squares = 0;
    std::size_t rows = 0;
    std::size_t within = 0;
    bool planted = false;  ///< Whether some run can have the fault.

    double left() const { return rows == 0 ? 0 : std::sqrt(squares / static_cast<double>(rows)); }
};

void add(Rest& rest, double far) {
    rest.squares += far * far;
    rest.rows += 1;
    rest.within += std::abs(far) <= 1 ? 1U : 0U;
}

/// Returns a run with all of these faults; std::nullopt if it cannot have one of them.
std::optional<Setting> plant_all(Setting run, Tool tool, std::span<const PlantedFault> faults) {
    for (const PlantedFault& each : faults) {
        auto planted = each.fault->plant(run, tool, each.level);
        if (!planted) {
            return std::nullopt;
        }
        run = *std::move(planted);
    }
    return run;
}

/// Returns the rest with these faults. The runs that cannot have them are as expected.
Rest rest_of(const Setting& setting, const std::vector<JudgedTable>& tables,
             std::span<const PlantedFault> faults) {
    Rest rest;
    for (const JudgedTable& table : tables) {
        const Benchmark& benchmark = *table.run.table.benchmark;
        std::optional<Expectation> expectation;
        if (!faults.empty() && !table.rows.empty()) {
            const auto planted =
                plant_all(in_run(setting, benchmark.tool, table.run.nodes, table.run.per_node),
                          benchmark.tool, faults);
            auto made = planted ? Expectation::make(*planted, benchmark, table.run.table.gpu_memory)
                                : std::unexpected(std::string());
            if (made) {
                expectation = *std::move(made);
                rest.planted = true;
            }
        }
        for (const JudgedRow& row : table.rows) {
            const auto value = expectation ? expectation->of(row.measured.bytes)
                                           : std::expected<Expected, std::string>(row.expected);
            add(rest, distance(benchmark, row, value ? value->value : row.expected.value));
        }
    }
    return rest;
}

/// Returns the run of the table that shows a fault best: the first that can have it.
Setting shown_run(const Setting& setting, const std::vector<JudgedTable>& tables,
                  const PlantedFault& planted) {
    for (const JudgedTable& table : tables) {
        const Tool tool = table.run.table.benchmark->tool;
        Setting run = in_run(setting, tool, table.run.nodes, table.run.per_node);
        if (planted.fault->plant(run, tool, planted.level)) {
            return run;
        }
    }
    return setting;
}

/// Adds the words for faults, and the facts that speak for them or against them.
void describe(const Setting& setting, const Diagnosis& diagnosis, LikelyFault& likely) {
    for (const PlantedFault& each : likely.planted) {
        const Setting run = shown_run(setting, diagnosis.tables, each);
        likely.text += (likely.text.empty() ? "" : "; and ") + each.fault->show(run, each.level);
        if (each.fault->weigh == nullptr) {
            continue;
        }
        for (const Fact& fact : diagnosis.facts) {
            const int weight = each.fault->weigh(fact, run);
            if (weight != 0) {
                (weight > 0 ? likely.speaks_for : likely.speaks_against).push_back(fact);
            }
        }
    }
}

/// Returns the rest of a fault after the facts that speak for it or against it.
double weighed(const LikelyFault& likely) {
    double rest = likely.left;
    rest *= likely.speaks_for.empty() ? 1 : kSpokenFor;
    return rest * (likely.speaks_against.empty() ? 1 : kSpokenAgainst);
}

/// Plants faults, and takes them in place of `best` if they leave less.
void try_faults(const Setting& setting, const Diagnosis& diagnosis,
                std::vector<PlantedFault> planted, double squares_before,
                std::optional<LikelyFault>& best) {
    const Rest rest = rest_of(setting, diagnosis.tables, planted);
    if (rest.planted && (!best || rest.left() < best->left)) {
        best = LikelyFault{.planted = std::move(planted),
                           .explained = 1 - rest.squares / squares_before,
                           .left = rest.left(),
                           .rows_within = rest.within};
    }
}

/// Returns the two faults that explain most together: one of those that explain most alone, and any
/// other. Returns std::nullopt if they leave more than half of what one alone leaves.
std::optional<LikelyFault> best_pair(const Setting& setting, const Diagnosis& diagnosis,
                                     const std::vector<LikelyFault>& alone, double squares_before) {
    std::optional<LikelyFault> best;
    const std::size_t count = std::min(alone.size(), kPairedMost);
    for (std::size_t i = 0; i < count; ++i) {
        const PlantedFault& first = alone[i].planted[0];
        for (const Fault& fault : faults()) {
            for (const double level : fault.levels) {
                if (&fault != first.fault) {
                    try_faults(setting, diagnosis, {first, {&fault, level}}, squares_before, best);
                }
            }
        }
    }
    const bool good = best && best->explained >= kPairExplainsLeast &&
                      best->left <= kPairLeavesMost * alone[0].left;
    if (!good) {
        return std::nullopt;
    }
    describe(setting, diagnosis, *best);
    return best;
}

/// Puts the likeliest first. Those that leave about the same rest keep the order of the table.
void rank(std::vector<LikelyFault>& found) {
    std::ranges::stable_sort(found, {}, weighed);
    for (std::size_t first = 0; first < found.size();) {
        std::size_t last = first + 1;
        while (last < found.size() && weighed(found[last]) <= weighed(found[first]) + kSameRest) {
            ++last;
        }
        std::stable_sort(
            found.begin() + static_cast<std::ptrdiff_t>(first),
            found.begin() + static_cast<std::ptrdiff_t>(last),
            [](const LikelyFault& a, const LikelyFault& b) {
                return std::tuple(a.speaks_for.empty(), a.planted.size(), a.planted[0].fault) <
                       std::tuple(b.speaks_for.empty(), b.planted.size(), b.planted[0].fault);
            });
        for (std::size_t i = first + 1; i < last; ++i) {
            found[i].as_likely = true;
        }
        first = last;
    }
    // A pair explains more than what is alone in any case.
    double most = 0;
    for (const LikelyFault& each : found) {
        most = std::max(most, each.planted.size() == 1 ? each.explained : 0);
    }
    std::erase_if(found,
                  [most](const LikelyFault& each) { return each.explained < most - kMuchMore; });
    found.resize(std::min(found.size(), kNamedMost));
}

void find_faults(const Setting& setting, Diagnosis& diagnosis, const DiagnosisWatch& watch) {
    const double before = rest_of(setting, diagnosis.tables, {}).squares;
    if (before <= 0) {
        return;
    }
    std::vector<LikelyFault> alone;
    std::size_t done = 0;
    for (const Fault& fault : faults()) {
        if (watch) {
            watch(done++, faults().size(), fault.name);
        }
        std::optional<LikelyFault> best;
        for (const double level : fault.levels) {
            try_faults(setting, diagnosis, {{&fault, level}}, before, best);
        }
        if (best && best->explained >= kPairedLeast) {
            describe(setting, diagnosis, *best);
            alone.push_back(*std::move(best));
        }
    }
    std::ranges::stable_sort(alone, {}, &LikelyFault::left);
    if (!alone.empty() && alone[0].left > kLeavesMuch) {
        if (watch) {
            watch(done, faults().size(), "two together");
        }
        if (auto pair = best_pair(setting, diagnosis, alone, before)) {
            diagnosis.faults.push_back(*std::move(pair));
        }
    }
    std::ranges::copy_if(alone, std::back_inserter(diagnosis.faults),
                         [](const LikelyFault& each) { return each.explained >= kExplainsLeast; });
    rank(diagnosis.faults);
}

}  // namespace

std::string LikelyFault::name() const {
    std::string names;
    for (const PlantedFault& each : planted) {
        names += (names.empty() ? "" : "+") + std::string(each.fault->name);
    }
    return names;
}

const char* to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::kSlow:
            return "slow";
        case Verdict::kFast:
            return "fast";
        case Verdict::kWrong:
            return "wrong";
        case Verdict::kOk:
            break;
    }
    return "ok";
}

std::size_t JudgedTable::off() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        rows, [](const JudgedRow& row) { return row.verdict != Verdict::kOk; }));
}

std::expected<Diagnosis, std::string> diagnose(const Setting& setting, std::vector<Run> runs,
                                               std::vector<Fact> facts,
                                               const DiagnosisWatch& watch) {
    Diagnosis diagnosis{.facts = std::move(facts)};
    bool slow = false;
    for (Run& run : runs) {
        diagnosis.tables.push_back(judge_table(setting, std::move(run)));
        const JudgedTable& table = diagnosis.tables.back();
        diagnosis.rows += table.rows.size();
        diagnosis.off += table.off();
        slow = slow || std::ranges::any_of(table.rows, [](const JudgedRow& row) {
                   return row.verdict == Verdict::kSlow;
               });
    }
    if (diagnosis.rows == 0) {
        return std::unexpected(diagnosis.tables.empty() ? "there is no table to judge"
                                                        : diagnosis.tables.front().left_out);
    }
    if (slow) {
        find_faults(setting, diagnosis, watch);
    }
    return diagnosis;
}

}  // namespace softib::plan
