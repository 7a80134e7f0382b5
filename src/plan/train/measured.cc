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
    {"pass_us", "hopper and blackwell", field<&Rates::pass_us>, is_short},
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
        for (std::size_t c = 0; c < std::size(kConstants); ++c) {
            draw_curves(c);
        }
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
        constexpr int kSweeps = 40;
        bool changed = true;
        for (int sweep = 0; changed && sweep < kSweeps; ++sweep) {
            changed = false;
            for (std::size_t c = 0; c < std::size(kConstants); ++c) {
                draw_curves(c);
                values[c] = fit(c, steps_.size());
                constexpr double kSame = 0.006;
                if (std::abs(values[c] / values_[c] - 1) > kSame) {
                    changed = true;
                    put(c, values[c]);
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

    /// Returns the value with which the steps that the constant is fitted on are off the least: by
    /// the squares of small errors, and the sizes of large ones.
    double fit(std::size_t constant, std::size_t left_out) const {
        std::vector<const Curve*> used;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (i != left_out && !curves_[constant][i].empty()) {
                used.push_back(&curves_[constant][i]);
            }
        }
        const auto off = [&](double place) {
            constexpr double kSmall = 0.05;
            double sum = 0;
            for (const Curve* const curve : used) {
                const double error = between(*curve, place) / kSmall;
                sum += std::sqrt(1 + error * error);
            }
            return sum;
        };
        constexpr double kStep = 0.1;
        double best = 0;
        for (double place = 0; place <= kPoints - 1; place += kStep) {
            best = off(place) < off(best) ? place : best;
        }
        double low = std::max(best - kStep, 0.0);
        double high = std::min(best + kStep, kPoints - 1.0);
        constexpr int kThirds = 30;
        for (int i = 0; i < kThirds; ++i) {
            const double left = low + (high - low) / 3;
            const double right = high - (high - low) / 3;
            (off(left) < off(right) ? high : low) = off(left) < off(right) ? right : left;
        }
        return value_at(constant, (low + high) / 2);
    }

    /// The logarithms of a step's ours divided by measured, for each of kPoints values of a
    /// constant; empty if the constant is not fitted on the step.
    using Curve = std::vector<double>;
    static constexpr std::size_t kPoints = 9;
    static constexpr double kRange = 2;  ///< From half of the value in rates/ to twice it.

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

    void draw_curves(std::size_t constant) {
        const FittedConstant& of = kConstants[constant];
        curves_[constant].assign(steps_.size(), {});
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (!of.uses(*steps_[i], cases_[i])) {
                continue;
            }
            StepCase made = cases_[i];
            double& value = of.of(made.cluster.gpu.rates);
            values_[constant] = value;
            for (std::size_t point = 0; point < kPoints; ++point) {
                value = value_at(constant, static_cast<double>(point));
                curves_[constant][i].push_back(std::log(ratio(made)));
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
    made.cluster.fabric.link_part *= step.link_speed;
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

namespace {

/// Returns the size of error below which 4 of 5 new steps stay if they are like those of `alike`,
/// and the number of these.
template <typename Alike>
std::pair<double, std::size_t> usual_error(Alike alike) {
    constexpr double kShare = 0.8;
    std::vector<double> errors;
    for (const KnownError& each : known_errors()) {
        const auto step = std::ranges::find(measured_steps(), each.id, &MeasuredStep::id);
        const StepCase made = case_of(*step);
        if (alike(class_of(made.model, made.mapping, made.seconds))) {
            errors.push_back(std::abs(std::log1p(each.leave_one_out)));
        }
    }
    std::ranges::sort(errors);
    // A new one is the greatest of all with the same chance as any other: so few say less.
    const auto rank =
        static_cast<std::size_t>(std::ceil(kShare * static_cast<double>(errors.size() + 1)));
    return {errors.empty() ? 0 : errors[std::min(rank, errors.size()) - 1], errors.size()};
}

}  // namespace

StepInterval interval_of(double seconds, const StepClass& kind) {
    constexpr std::size_t kEnough = 5;
    const auto [of_kind, alike] =
        usual_error([&](const StepClass& other) { return other == kind; });
    const auto [of_sort, all] =
        usual_error([&](const StepClass& other) { return other.experts == kind.experts; });
    // Steps of a kind are often of one source, so that no kind is known better than its sort.
    const bool by_kind = alike >= kEnough && of_kind >= of_sort;
    const double most = by_kind ? of_kind : of_sort;
    return {.low = seconds * std::exp(-most),
            .high = seconds * std::exp(most),
            .steps = static_cast<std::uint32_t>(by_kind ? alike : all),
            .kind = by_kind        ? describe(kind)
                    : kind.experts ? "mixture of experts"
                                   : "dense"};
}

}  // namespace softib::plan
