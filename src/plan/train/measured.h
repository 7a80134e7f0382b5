// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Training steps that were measured on machines (the files of steps/), the constants of rates/ that
// are fitted on them, and what these constants are worth: the error of each step when the constants
// are fitted on all other steps.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/train/mapping.h"
#include "plan/train/model.h"

namespace softib::plan {

/// What was measured of a step.
enum class Measure : std::uint8_t {
    kSeconds,
    kTokensPerGpuS,
    kTeraflops,  ///< Operations of the model for each GPU.
    kDays,       ///< For 10^12 tokens.
};

struct MeasuredStep {
    std::string id = {};
    std::string what = {};
    std::string source = {};
    std::string model = {};
    std::string cluster = {};
    std::string framework = {};  ///< Whose defaults hold for what `given` does not say.
    std::vector<std::string_view> given = {};  ///< Keys that the file says.
    bool roce = false;                         ///< Whether its nodes are joined by Ethernet.
    double link_speed = 1;  ///< Rate of its links, as a part of that of `cluster`.
    Mapping mapping = {};
    bool recompute_given = false;  ///< Else the least that fits is taken.
    Measure measure = Measure::kSeconds;
    double value = 0;
    std::string known_miss = {};  ///< Why ours is outside of the tolerance; empty: it is inside.
};
std::span<const MeasuredStep> measured_steps();

/// A measured step with its model and cluster, and the mapping with which it is timed.
struct StepCase {
    Model model = {};
    Cluster cluster = {};
    Mapping mapping = {};
    double seconds = 0;  ///< The measured time.
};
StepCase case_of(const MeasuredStep& step);
/// Returns the name of the measure and its value for a step of `seconds`.
double measured_value(const MeasuredStep& step, double seconds);
std::string_view unit_of(Measure measure);

/// The kind of a step, by which errors are told apart.
struct StepClass {
    bool experts = false;
    double operand_bytes = 2;  ///< Bytes of a number that enters products.
    bool short_step = false;   ///< Whether it takes less than a second.

    friend bool operator==(const StepClass&, const StepClass&) = default;
};
StepClass class_of(const Model& model, const Mapping& mapping, double seconds);
/// Returns "dense, 8 bits, steps under 1 s".
std::string describe(const StepClass& of);

/// A constant of rates/ that is fitted on steps.
struct FittedConstant {
    std::string_view name;
    std::string_view generation;  ///< Names of the rates; empty: of all.
    double& (*of)(Rates& rates);
    /// Whether a step is one of those on which the constant is fitted.
    bool (*uses)(const MeasuredStep& step, const StepCase& made);

    /// Returns whether it is a constant of these rates.
    bool of_rates(const Rates& rates) const {
        return generation.empty() || generation.contains(rates.name);
    }
};
std::span<const FittedConstant> fitted_constants();

/// The errors of one step: ours divided by measured, less 1.
struct StepError {
    const MeasuredStep* step = nullptr;
    StepClass kind = {};
    double in_sample = 0;      ///< With the constants of rates/.
    double leave_one_out = 0;  ///< With constants fitted on all other steps.
};
/// Times all steps, and fits the constants once for each, by rates and latencies alone.
std::vector<StepError> step_errors();

/// Two measured steps whose ratio says what a change costs.
struct StepPair {
    std::string_view what;
    std::string_view step;  ///< Ids.
    std::string_view over;
};
std::span<const StepPair> step_pairs();
/// The time of a step over that of another.
struct StepRatio {
    const StepPair* pair = nullptr;
    double measured = 0;
    double ours = 0;

    /// Returns whether ours is within three hundredths.
    bool met() const { return ours - measured < kNear && measured - ours < kNear; }

  private:
    static constexpr double kNear = 0.03;
};
/// Returns the ratios of all pairs, with the constants of rates/.
std::vector<StepRatio> step_ratios(const std::vector<StepError>& errors);

/// What the errors of steps of a kind, each without itself, come to.
struct ErrorsOfKind {
    std::string kind = {};
    std::size_t steps = 0;
    double median = 0;        ///< Median of the errors' magnitudes.
    double percentile90 = 0;  ///< Their 90th percentile.
};
/// Returns them for dense models with long steps, with steps under a second, and for mixtures of
/// experts.
std::vector<ErrorsOfKind> by_kind(const std::vector<StepError>& errors);

/// An interval in which 4 of 5 measured steps of a kind lie.
struct StepInterval {
    double low = 0;  ///< Seconds.
    double high = 0;
    std::uint32_t steps = 0;  ///< Measured steps that it stands on.
    std::string kind = {};    ///< Their kind.
};
/// Returns the interval for a step of `seconds`, from errors.toml.
StepInterval interval_of(double seconds, const StepClass& kind);

/// An error of errors.toml: that of a step without itself. `softib plan validate --errors` writes
/// the file, and a test says that it is true.
struct KnownError {
    std::string_view id;
    double leave_one_out = 0;
};
std::span<const KnownError> known_errors();

/// Returns the values of the constants that fit all steps, in the order of fitted_constants().
std::vector<double> fit_constants();

}  // namespace softib::plan
