// SPDX-License-Identifier: BSD-2-Clause
#include "plan/expect/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

/// Returns the rest with a fault, or without one. The runs that cannot have it are as expected.
Rest rest_of(const Setting& setting, const std::vector<JudgedTable>& tables, const Fault* fault,
             double level) {
    Rest rest;
    for (const JudgedTable& table : tables) {
        const Benchmark& benchmark = *table.run.table.benchmark;
        std::optional<Expectation> expectation;
        if (fault != nullptr && !table.rows.empty()) {
            const auto planted =
                fault->plant(in_run(setting, benchmark.tool, table.run.nodes, table.run.per_node),
                             benchmark.tool, level);
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
                  const Fault& fault, double level) {
    for (const JudgedTable& table : tables) {
        const Tool tool = table.run.table.benchmark->tool;
        Setting run = in_run(setting, tool, table.run.nodes, table.run.per_node);
        if (fault.plant(run, tool, level)) {
            return run;
        }
    }
    return setting;
}

void weigh(LikelyFault& likely, const Setting& run, const std::vector<Fact>& facts) {
    if (likely.fault->weigh == nullptr) {
        return;
    }
    for (const Fact& fact : facts) {
        const int weight = likely.fault->weigh(fact, run);
        if (weight != 0) {
            (weight > 0 ? likely.speaks_for : likely.speaks_against).push_back(fact);
        }
    }
}

/// Returns the rest of a fault after the facts that speak for it or against it.
double weighed(const LikelyFault& likely) {
    double rest = likely.left;
    rest *= likely.speaks_for.empty() ? 1 : kSpokenFor;
    return rest * (likely.speaks_against.empty() ? 1 : kSpokenAgainst);
}

/// Returns a fault at the level that explains most; std::nullopt if it explains too little.
std::optional<LikelyFault> best_level(const Setting& setting, const Diagnosis& diagnosis,
                                      const Fault& fault, double squares_before) {
    std::optional<LikelyFault> best;
    for (const double level : fault.levels) {
        const Rest rest = rest_of(setting, diagnosis.tables, &fault, level);
        if (!rest.planted || (best && rest.left() >= best->left)) {
            continue;
        }
        best = LikelyFault{.fault = &fault,
                           .level = level,
                           .explained = 1 - rest.squares / squares_before,
                           .left = rest.left(),
                           .rows_within = rest.within};
    }
    if (!best || best->explained < kExplainsLeast) {
        return std::nullopt;
    }
    const Setting run = shown_run(setting, diagnosis.tables, fault, best->level);
    best->text = fault.show(run, best->level);
    weigh(*best, run, diagnosis.facts);
    return best;
}

void find_faults(const Setting& setting, Diagnosis& diagnosis, const DiagnosisWatch& watch) {
    const Rest before = rest_of(setting, diagnosis.tables, nullptr, 0);
    if (before.squares <= 0) {
        return;
    }
    std::size_t done = 0;
    for (const Fault& fault : faults()) {
        if (watch) {
            watch(done++, faults().size(), fault.name);
        }
        if (auto likely = best_level(setting, diagnosis, fault, before.squares)) {
            diagnosis.faults.push_back(*std::move(likely));
        }
    }
    std::ranges::stable_sort(diagnosis.faults, {}, weighed);
    // Faults that leave about the same rest keep the order of the table within their group.
    auto& found = diagnosis.faults;
    for (std::size_t first = 0; first < found.size();) {
        std::size_t last = first + 1;
        while (last < found.size() && weighed(found[last]) <= weighed(found[first]) + kSameRest) {
            ++last;
        }
        std::stable_sort(found.begin() + static_cast<std::ptrdiff_t>(first),
                         found.begin() + static_cast<std::ptrdiff_t>(last),
                         [](const LikelyFault& a, const LikelyFault& b) {
                             return std::pair(a.speaks_for.empty(), a.fault) <
                                    std::pair(b.speaks_for.empty(), b.fault);
                         });
        for (std::size_t i = first + 1; i < last; ++i) {
            found[i].as_likely = true;
        }
        first = last;
    }
    if (!found.empty()) {
        std::erase_if(found, [least = found[0].explained - kMuchMore](const LikelyFault& each) {
            return each.explained < least;
        });
    }
    found.resize(std::min(found.size(), kNamedMost));
}

}  // namespace

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
