// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "plan/train/kernels.h"

namespace softib::plan {

namespace {

constexpr double kMicrosecond = 1e-6;
/// Parts of the peak outside of which the GPU must be another.
constexpr double kReachLeast = 0.001;
constexpr double kReachMost = 0.95;

std::optional<double> median(std::vector<double> values) {
    if (values.empty()) {
        return std::nullopt;
    }
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Fits rates on kernels, one after the other in their order of dependence.
class Calibration {
  public:
    Calibration(const Gpu& gpu, double power_w, const Rates& base,
                std::span<const TimedKernel> kernels)
        : gpu_(gpu), kernels_(kernels) {
        gpu_.rates = base;
        // So that the clock of the model is that with which the kernels ran.
        gpu_.power_w = power_w;
        gpu_.rates.watts_per_sm = power_w / gpu_.sms;
        in_steps_ = base.in_steps;
        gpu_.rates.in_steps = 1;
    }

    std::expected<Rates, std::string> fit() {
        Rates& rates = gpu_.rates;
        const auto start = median_of(KernelKind::kStart, [](const TimedKernel& kernel) {
            return kernel.seconds / kMicrosecond;
        });
        rates.start_us = start.value_or(rates.start_us);
        using Part = std::optional<double>;
        const Part memory = median_of(KernelKind::kPass, [this](const TimedKernel& kernel) {
            return kernel.bytes / gpu_.memory_bytes_per_s / busy(kernel);
        });
        const Part flash = median_of(KernelKind::kFlash, [this](const TimedKernel& kernel) {
            return kernel.flops / gpu_.peak(Precision::kBf16) / busy(kernel);
        });
        const Part back = median_of(KernelKind::kFlashBackward, [this](const TimedKernel& kernel) {
            constexpr double kProducts = 2.5;  // As the model counts them.
            return kProducts * kernel.flops / gpu_.peak(Precision::kBf16) / busy(kernel);
        });
        const std::array<std::pair<const char*, std::pair<Part, double*>>, 3> parts{
            {{"passes over memory", {memory, &rates.memory}},
             {"attention", {flash, &rates.flash}},
             {"attention's backward pass", {back, &rates.flash_backward}}}};
        for (const auto& [what, part] : parts) {
            if (!part.first) {
                return std::unexpected(fmt::format("the measurements have no {}", what));
            }
            if (auto wrong = find_fault(what, *part.first)) {
                return std::unexpected(*wrong);
            }
            *part.second = *part.first;
        }
        if (auto wrong = fit_products()) {
            return std::unexpected(*wrong);
        }
        rates.in_steps = in_steps_;
        return rates;
    }

  private:
    /// Returns the time of a kernel after its start.
    double busy(const TimedKernel& kernel) const {
        return std::max(kernel.seconds - gpu_.rates.start_us * kMicrosecond, kernel.seconds / 2);
    }

    template <typename Value>
    std::optional<double> median_of(KernelKind kind, Value value) const {
        std::vector<double> values;
        for (const TimedKernel& kernel : kernels_) {
            if (kernel.kind == kind) {
                values.push_back(value(kernel));
            }
        }
        return median(std::move(values));
    }

    std::optional<std::string> find_fault(const std::string& what, double part) const {
        if (part > kReachLeast && part < kReachMost) {
            return std::nullopt;
        }
        return fmt::format(
            "{} reach {:.3g} of the peak of {} or {}: describe the GPU that was measured in the "
            "section [gpu_rates] of a cluster's file, and give that by --cluster",
            what, part, gpu_.name, part < kReachMost ? "less" : "more");
    }

    /// Returns the mean error of the products of a recipe.
    double error_of(Recipe recipe) const {
        double sum = 0;
        int count = 0;
        for (const TimedKernel& kernel : kernels_) {
            if (kernel.kind == KernelKind::kProduct && kernel.recipe == recipe) {
                sum += std::abs(std::log(seconds_of(gpu_, kernel) / kernel.seconds));
                ++count;
            }
        }
        return count == 0 ? 0 : sum / count;
    }

    bool has(Recipe recipe) const {
        return std::ranges::any_of(kernels_, [recipe](const TimedKernel& kernel) {
            return kernel.kind == KernelKind::kProduct && kernel.recipe == recipe;
        });
    }

    /// Moves a rate to where the products of a recipe have the least error: by steps of `step`, as
    /// a factor, that become smaller.
    void improve(double& rate, double least, double most, Recipe recipe, double step) {
        double best = error_of(recipe);
        constexpr double kFinest = 1.001;
        while (step > kFinest) {
            bool better = false;
            for (const double factor : {step, 1 / step}) {
                const double before = rate;
                rate = std::clamp(before * factor, least, most);
                const double error = error_of(recipe);
                if (error < best) {
                    best = error;
                    better = true;
                } else {
                    rate = before;
                }
            }
            step = better ? step : std::sqrt(step);
        }
    }

    std::optional<std::string> fit_products() {
        Rates& rates = gpu_.rates;
        if (!has(Recipe::kBf16)) {
            return "the measurements have no products in bf16";
        }
        for (const Recipe recipe : kRecipes) {
            if (!has(recipe)) {
                continue;
            }
            if (gpu_.peak(precision_of(recipe)) == 0) {
                return fmt::format(
                    "{} has no rate for products in {}: describe the GPU that was measured in "
                    "the section [gpu_rates] of a cluster's file, and give that by --cluster",
                    gpu_.name, to_string(recipe));
            }
            constexpr double kFirst = 0.3;
            constexpr double kCoarse = 1.5;
            constexpr double kFine = 1.1;
            double& part = rates.matmul[static_cast<std::size_t>(recipe)];
            part = kFirst;
            improve(part, kReachLeast / 2, kReachMost, recipe, kCoarse);
            // What a result costs, and small tiles, are the same in all recipes.
            constexpr int kRounds = 3;
            constexpr double kResultLeast = 0.01;
            constexpr double kTileLeast = 0.3;
            for (int round = 0; round < kRounds && recipe == Recipe::kBf16; ++round) {
                rates.result = std::max(rates.result, kResultLeast);
                improve(rates.result, kResultLeast, 1, recipe, kFine);
                improve(rates.small_tile, kTileLeast, 1, recipe, kFine);
                improve(part, kReachLeast / 2, kReachMost, recipe, kFine);
            }
            if (auto wrong = find_fault(fmt::format("products in {}", to_string(recipe)), part)) {
                return wrong;
            }
        }
        return std::nullopt;
    }

    Gpu gpu_;
    double in_steps_ = 1;
    std::span<const TimedKernel> kernels_;
};

}  // namespace

std::expected<Rates, std::string> calibrate(const Gpu& gpu, double power_w, const Rates& base,
                                            std::span<const TimedKernel> kernels) {
    return Calibration(gpu, power_w, base, kernels).fit();
}

double seconds_of(const Gpu& gpu, const TimedKernel& kernel) {
    const Kernels model(gpu, kernel.recipe);
    switch (kernel.kind) {
        case KernelKind::kProduct:
            return model.matmul(kernel.m, kernel.n, kernel.k, kernel.batch);
        case KernelKind::kFlash:
            return model.flash_attention(kernel.flops);
        case KernelKind::kFlashBackward:
            return model.flash_attention_backward(kernel.flops);
        case KernelKind::kPass:
            return model.elementwise(kernel.bytes, 1);
        case KernelKind::kStart:
            break;
    }
    return model.elementwise(0, 1);
}

}  // namespace softib::plan
