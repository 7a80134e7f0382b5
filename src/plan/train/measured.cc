// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "plan/cluster/presets.h"
#include "plan/train/communication.h"
#include "plan/train/framework.h"
#include "plan/train/memory.h"
#include "plan/train/step.h"

namespace softib::plan {

namespace {

constexpr double kDay = 86'400;

/// Returns the seconds that a measured value stands for.
double seconds_of(const MeasuredStep& step, const Model& model, const Mapping& mapping) {
    const double tokens = static_cast<double>(mapping.batch) * mapping.sequence;
    switch (step.measure) {
        case Measure::kSeconds:
            return step.value;
        case Measure::kTokensPerGpuS:
            return tokens / (step.value * mapping.gpus);
        case Measure::kTeraflops: {
            const bool square = mapping.attention == AttentionKernel::kUnfused;
            const double flops = tokens * flops_per_token(model, mapping.sequence, square);
            return flops / (step.value * 1e12 * mapping.gpus);
        }
        case Measure::kDays:
            break;
    }
    return step.value * kDay * tokens / 1e12;
}

template <double Rates::* kField>
double& field(Rates& rates) {
    return rates.*kField;
}

constexpr const char* kAmpere = "ampere";
constexpr const char* kBlackwell = "blackwell";

double& matmul_nvfp4(Rates& rates) {
    return rates.matmul[static_cast<std::size_t>(Recipe::kNvfp4)];
}

bool is_fp4(const MeasuredStep& step, const StepCase&) {
    return step.mapping.recipe == Recipe::kNvfp4;
}

template <const char* const& kGeneration>
bool dense_on(const MeasuredStep& step, const StepCase& made) {
    return made.model.experts == 0 && made.cluster.gpu.rates.name == kGeneration &&
           !is_fp4(step, made);
}

bool is_short(const MeasuredStep&, const StepCase& made) {
    return made.model.experts == 0 && made.seconds < 1;
}

bool on_many(const MeasuredStep&, const StepCase& made) {
    constexpr std::uint32_t kMany = 64;
    return made.model.experts == 0 && made.mapping.gpus >= kMany &&
           made.cluster.gpu.rates.name != kAmpere;
}

bool of_experts(const MeasuredStep& step, const StepCase& made) {
    return made.model.experts != 0 && !converts(step.mapping.recipe);
}

bool of_converted_experts(const MeasuredStep& step, const StepCase& made) {
    return made.model.experts != 0 && converts(step.mapping.recipe) && !step.mapping.overlap_ep;
}

constexpr FittedConstant kConstants[] = {
    {"in_steps", kAmpere, field<&Rates::in_steps>, dense_on<kAmpere>},
    {"in_steps", kBlackwell, field<&Rates::in_steps>, dense_on<kBlackwell>},
    {"matmul.nvfp4", kBlackwell, matmul_nvfp4, is_fp4},
    {"step_ms", "", field<&Rates::step_ms>, is_short},
    {"spread", "hopper and blackwell", field<&Rates::spread>, on_many},
    {"expert_exchange", "", field<&Rates::expert_exchange>, of_experts},
    {"host_us", "", field<&Rates::host_us>, of_converted_experts},
};

/// Fits constants on measured steps.
class Fitting {
  public:
    Fitting() {
        for (const MeasuredStep& step : measured_steps()) {
            steps_.push_back(&step);
            cases_.push_back(case_of(step));
        }
        draw_curves();
    }

    std::vector<StepError> errors() {
        std::vector<StepError> all;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const StepCase& made = cases_[i];
            all.push_back({.step = steps_[i],
                           .kind = class_of(made.model, made.mapping, made.seconds),
                           .in_sample = ratio(made) - 1,
                           .leave_one_out = ratio(without(i)) - 1});
        }
        return all;
    }

    /// Fits one constant after the other until none changes.
    std::vector<double> constants() {
        std::vector<double> values(std::size(kConstants));
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t c = 0; c < std::size(kConstants); ++c) {
                values[c] = fit(c, steps_.size());
                constexpr double kSame = 0.002;
                if (std::abs(values[c] / values_[c] - 1) > kSame) {
                    changed = true;
                    put(c, values[c]);
                    draw_curves();
                }
            }
        }
        return values;
    }

  private:
    static double ratio(const StepCase& made) {
        const LinkCommunication links(made.cluster);
        return time_step(made.model, made.cluster, made.mapping, links).seconds / made.seconds;
    }

    /// Returns the case of a step with constants that were fitted on all others, one after the
    /// other.
    StepCase without(std::size_t left_out) const {
        StepCase made = cases_[left_out];
        for (std::size_t c = 0; c < std::size(kConstants); ++c) {
            const FittedConstant& constant = kConstants[c];
            if (constant.of_rates(made.cluster.gpu.rates)) {
                constant.of(made.cluster.gpu.rates) = fit(c, left_out);
            }
        }
        return made;
    }

    /// Returns the value with which the median step that the constant is fitted on has no error.
    double fit(std::size_t constant, std::size_t left_out) const {
        std::vector<const Curve*> used;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (i != left_out && !curves_[constant][i].empty()) {
                used.push_back(&curves_[constant][i]);
            }
        }
        // The median is a monotonic function of the constant, as each curve is.
        const auto at = [&](double place) {
            std::vector<double> logs;
            for (const Curve* const curve : used) {
                logs.push_back(between(*curve, place));
            }
            std::ranges::sort(logs);
            const std::size_t middle = logs.size() / 2;
            return logs.size() % 2 != 0 ? logs[middle] : (logs[middle - 1] + logs[middle]) / 2;
        };
        double low = 0;
        double high = kPoints - 1;
        const bool grows = at(high) > at(low);
        constexpr int kHalvings = 30;
        for (int i = 0; i < kHalvings; ++i) {
            const double middle = (low + high) / 2;
            ((at(middle) > 0) == grows ? high : low) = middle;
        }
        return value_at(constant, low);
    }

    /// The logarithms of a step's ours divided by measured, for each of kPoints values of a
    /// constant; empty if the constant is not fitted on the step.
    using Curve = std::vector<double>;
    static constexpr std::size_t kPoints = 13;
    static constexpr double kRange = 3;  ///< From a third of the value in rates/ to three times it.

    /// Returns the value of a constant at a place on the curves.
    double value_at(std::size_t constant, double place) const {
        return values_[constant] * std::pow(kRange, 2 * place / (kPoints - 1) - 1);
    }

    static double between(const Curve& curve, double place) {
        const auto below = std::min(static_cast<std::size_t>(place), kPoints - 2);
        const double part = place - static_cast<double>(below);
        return curve[below] * (1 - part) + curve[below + 1] * part;
    }

    /// Gives a constant another value in all cases.
    void put(std::size_t constant, double value) {
        const FittedConstant& of = kConstants[constant];
        for (StepCase& made : cases_) {
            Rates& rates = made.cluster.gpu.rates;
            if (of.of_rates(rates)) {
                of.of(rates) = value;
            }
        }
    }

    void draw_curves() {
        curves_.fill(std::vector<Curve>(steps_.size()));
        for (std::size_t c = 0; c < std::size(kConstants); ++c) {
            const FittedConstant& constant = kConstants[c];
            for (std::size_t i = 0; i < steps_.size(); ++i) {
                if (!constant.uses(*steps_[i], cases_[i])) {
                    continue;
                }
                StepCase made = cases_[i];
                double& value = constant.of(made.cluster.gpu.rates);
                values_[c] = value;
                for (std::size_t point = 0; point < kPoints; ++point) {
                    value = value_at(c, static_cast<double>(point));
                    curves_[c][i].push_back(std::log(ratio(made)));
                }
            }
        }
    }

    /// Values in rates/, and the curve of each step, by constant.
    std::array<double, std::size(kConstants)> values_ = {};
    std::array<std::vector<Curve>, std::size(kConstants)> curves_ = {};
    std::vector<const MeasuredStep*> steps_;
    std::vector<StepCase> cases_;
};

}  // namespace

StepCase case_of(const MeasuredStep& step) {
    const auto model = find_model(step.model);
    const auto cluster = find_preset(step.cluster);
    SOFTIB_CHECK(model && cluster);  // measured_test.cc looks at every file.
    StepCase made{.model = *model, .cluster = *cluster, .mapping = step.mapping};
    made.cluster.fabric.speed_factor *= step.link_speed;
    if (step.roce) {
        made.cluster.fabric.link_layer = LinkLayer::kRoce;
        made.cluster.fabric.sharp = false;
    }
    if (!step.framework.empty()) {
        apply_framework(**find_framework(step.framework), step.given, made.mapping);
    }
    if (!step.recompute_given) {
        recompute_least(made.model, made.cluster.gpu, made.mapping);
    }
    made.seconds = seconds_of(step, made.model, made.mapping);
    return made;
}

double measured_value(const MeasuredStep& step, double seconds) {
    const StepCase made = case_of(step);
    const double ratio = made.seconds / seconds;
    const bool time = step.measure == Measure::kSeconds || step.measure == Measure::kDays;
    return time ? step.value / ratio : step.value * ratio;
}

std::string_view unit_of(Measure measure) {
    constexpr std::array kUnits{"s", "tokens/s a GPU", "TFLOP/s", "days"};
    return kUnits[static_cast<std::size_t>(measure)];
}

StepClass class_of(const Model& model, const Mapping& mapping, double seconds) {
    return {.experts = model.experts != 0,
            .operand_bytes = bytes_of(precision_of(mapping.recipe)),
            .short_step = seconds < 1};
}

std::string describe(const StepClass& of) {
    return fmt::format("{}, {:.0f} bits{}", of.experts ? "mixture of experts" : "dense",
                       8 * of.operand_bytes, of.short_step ? ", steps under 1 s" : "");
}

std::span<const FittedConstant> fitted_constants() {
    return kConstants;
}

std::vector<StepError> step_errors() {
    return Fitting().errors();
}

std::vector<StepRatio> step_ratios(const std::vector<StepError>& errors) {
    std::vector<StepRatio> all;
    for (const StepPair& pair : step_pairs()) {
        StepRatio ratio{.pair = &pair, .measured = 1, .ours = 1};
        const auto times = [&](std::string_view id, double power) {
            const auto found = std::ranges::find_if(
                errors, [id](const StepError& each) { return each.step->id == id; });
            SOFTIB_CHECK(found != errors.end());  // measured_test.cc looks at every pair.
            const double seconds = case_of(*found->step).seconds;
            ratio.measured *= std::pow(seconds, power);
            ratio.ours *= std::pow(seconds * (1 + found->in_sample), power);
        };
        times(pair.step, 1);
        times(pair.over, -1);
        all.push_back(ratio);
    }
    return all;
}

std::vector<ErrorsOfKind> by_kind(const std::vector<StepError>& errors) {
    const struct {
        const char* name;
        bool (*holds)(const StepClass&);
    } kinds[] = {
        {"dense", [](const StepClass& kind) { return !kind.experts && !kind.short_step; }},
        {"dense, steps under 1 s",
         [](const StepClass& kind) { return !kind.experts && kind.short_step; }},
        {"mixture of experts", [](const StepClass& kind) { return kind.experts; }},
    };
    std::vector<ErrorsOfKind> all;
    for (const auto& [name, holds] : kinds) {
        std::vector<double> sizes;
        for (const StepError& each : errors) {
            if (holds(each.kind)) {
                sizes.push_back(std::abs(each.leave_one_out));
            }
        }
        std::ranges::sort(sizes);
        const auto at = [&sizes](double share) {
            return sizes[static_cast<std::size_t>(
                std::lround(share * static_cast<double>(sizes.size() - 1)))];
        };
        all.push_back({name, sizes.size(), at(0.5), at(0.9)});
    }
    return all;
}

std::vector<double> fit_constants() {
    return Fitting().constants();
}

StepInterval interval_of(double seconds, const StepClass& kind) {
    // The errors of the same kind, if there are enough; else of the same sort of model.
    constexpr std::size_t kEnough = 5;
    constexpr double kShare = 0.8;
    std::vector<double> errors;
    std::string name = describe(kind);
    const auto take = [&](auto alike) {
        for (const KnownError& each : known_errors()) {
            const auto step = std::ranges::find(measured_steps(), each.id, &MeasuredStep::id);
            const StepCase made = case_of(*step);
            if (alike(class_of(made.model, made.mapping, made.seconds))) {
                errors.push_back(std::abs(std::log1p(each.leave_one_out)));
            }
        }
    };
    take([&](const StepClass& other) { return other == kind; });
    if (errors.size() < kEnough) {
        errors.clear();
        name = kind.experts ? "mixture of experts" : "dense";
        take([&](const StepClass& other) { return other.experts == kind.experts; });
    }
    std::ranges::sort(errors);
    const auto at = static_cast<std::size_t>(kShare * static_cast<double>(errors.size()));
    const double most = errors[std::min(at, errors.size() - 1)];
    return {.low = seconds * std::exp(-most),
            .high = seconds * std::exp(most),
            .steps = static_cast<std::uint32_t>(errors.size()),
            .kind = std::move(name)};
}

}  // namespace softib::plan
