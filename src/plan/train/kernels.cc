// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace softib::plan {

namespace {

constexpr double kMicro = 1e-6;
constexpr double kPartMost = 0.95;  ///< Part of the peak that no clock exceeds.

/// A tile of the result that a multiprocessor computes at once, with `halvings` from the largest.
struct Tile {
    double rows;
    double columns;
    double halvings;
};
constexpr std::array kTiles{Tile{128, 256, 0}, Tile{256, 128, 0}, Tile{128, 128, 1},
                            Tile{128, 64, 2}, Tile{64, 128, 2}};
/// Parts of a long sum that several tiles compute, which are added up then (split-k).
constexpr std::array<double, 4> kSplits{1, 2, 4, 8};
constexpr double kSplitLeast = 1024;  ///< The shortest part of a sum.
constexpr double kSumBytes = 4;

/// Returns the clock that `watts` for a multiprocessor allow, as a part of that of `measured`
/// watts. Power grows with frequency and the square of the voltage, which grows with the frequency
/// to the power of about 3/4.
double clock_of(double watts, double measured) {
    constexpr double kExponent = 0.4;
    return watts > 0 ? std::pow(watts / measured, kExponent) : 1;
}

}  // namespace

/// Returns the quantile of the mean rank of the greatest of n normal numbers (Blom's approximation,
/// and Acklam's tail of the inverse normal distribution by Newton's method).
double deviations_of_slowest(double gpus) {
    if (gpus <= 1) {
        return 0;
    }
    constexpr double kBlom = 0.375;
    const double above = 1 - (gpus - kBlom) / (gpus + 1 - 2 * kBlom);
    double at = std::sqrt(-2 * std::log(above)) - 1;
    constexpr int kSteps = 20;
    for (int i = 0; i < kSteps; ++i) {
        const double tail = std::erfc(at * std::numbers::sqrt2 / 2) / 2;
        const double density =
            std::exp(-at * at / 2) * std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;
        at += (tail - above) / density;
    }
    return at;
}

Kernels::Kernels(const Gpu& gpu, Recipe recipe, std::uint32_t comm_sms, std::uint32_t gpus)
    : rates_(gpu.rates),
      sms_(gpu.sms - comm_sms),
      clock_(clock_of(gpu.power_w / gpu.sms, rates_.watts_per_sm) /
             (1 + rates_.spread * deviations_of_slowest(gpus))),
      memory_rate_(gpu.memory_bytes_per_s * rates_.memory),
      half_peak_(gpu.peak(Precision::kBf16) * sms_ / gpu.sms),
      convert_bytes_(rates_.convert_bytes[static_cast<std::size_t>(recipe)]),
      convert_kernels_(rates_.convert_kernels[static_cast<std::size_t>(recipe)]),
      recipe_(units_of(gpu, recipe)),
      half_(units_of(gpu, Recipe::kBf16)) {}

Kernels::Units Kernels::units_of(const Gpu& gpu, Recipe recipe) const {
    const double part = rates_.matmul[static_cast<std::size_t>(recipe)];
    const Precision precision = precision_of(recipe);
    return {.rate = gpu.peak(precision) * sms_ / gpu.sms *
                    std::min(part * clock_ * rates_.in_steps, kPartMost),
            .operand_bytes = bytes_of(precision)};
}

double Kernels::product(const Units& units, double m, double n, double k, double batch,
                        double result_bytes) const {
    double quickest = INFINITY;
    const double result = batch * m * n;
    for (const Tile& tile : kTiles) {
        const double tiles = batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
        const double rate = units.rate * std::pow(rates_.small_tile, tile.halvings);
        for (const double split : kSplits) {
            if (split > 1 && k / split < kSplitLeast) {
                break;
            }
            const double waves = std::ceil(tiles * split / sms_);
            const double flops = 2 * tile.rows * tile.columns * k / split * waves * sms_;
            const double sums = split == 1 ? 0 : split * kSumBytes * result / memory_rate_ / 2;
            quickest = std::min(quickest, flops / rate + sums);
        }
    }
    const double written = result_bytes * result / memory_rate_;
    const double read = batch * units.operand_bytes * (m * k + k * n) / memory_rate_;
    return std::max(quickest + rates_.result * written, read + written) + rates_.start_us * kMicro;
}

double Kernels::matmul(double m, double n, double k, double batch, double result_bytes) const {
    return product(recipe_, m, n, k, batch, result_bytes);
}

double Kernels::matmul_half(double m, double n, double k, double batch, double result_bytes) const {
    return product(half_, m, n, k, batch, result_bytes);
}

/// Returns the seconds of a fused kernel that reaches this part of the peak over many tokens, with
/// heads of 128. Short runs of tokens fill fewer tiles between the diagonal and the end.
double Kernels::flash_seconds(const Attention& attention, double part) const {
    constexpr double kTimed = 8192;  // Tokens with which rates were measured.
    constexpr double kUsual = 128;
    const double filled =
        std::min(1.0, (1 + rates_.flash_tokens / kTimed) /
                          (1 + rates_.flash_tokens / std::max(attention.tokens, 1.0)));
    const double narrow = attention.width < kUsual ? rates_.flash_narrow : 1;
    return attention.flops / (half_peak_ * part * filled * narrow * clock_) +
           rates_.start_us * kMicro;
}

double Kernels::flash_attention(const Attention& attention) const {
    return flash_seconds(attention, attention.fp8 ? rates_.flash_fp8 : rates_.flash);
}

double Kernels::flash_attention_backward(const Attention& attention) const {
    // The scores are computed again: there are five products, and two in the forward pass.
    constexpr double kProducts = 2.5;
    return kProducts * flash_seconds(attention, attention.fp8 ? rates_.flash_fp8_backward
                                                              : rates_.flash_backward);
}

double Kernels::elementwise(double bytes, double kernels) const {
    return bytes / memory_rate_ + kernels * rates_.start_us * kMicro;
}

double Kernels::convert(double numbers) const {
    return convert_kernels_ == 0 ? 0 : elementwise(convert_bytes_ * numbers, convert_kernels_);
}

}  // namespace softib::plan
