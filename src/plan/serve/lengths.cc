// SPDX-License-Identifier: BSD-2-Clause
#include "plan/serve/lengths.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

namespace softib::plan {

namespace {

constexpr char kForms[] =
    "must be a number of tokens from 1 to 2000000, uniform:LOW:HIGH, exp:MEAN or "
    "lognormal:MEAN:SIGMA";
constexpr double kSigmaMost = 4;

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = std::min(text.find(':'), text.size());
        parts.push_back(text.substr(0, end));
        if (end == text.size()) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

std::optional<double> number_of(std::string_view text, double least, double most) {
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || !(value >= least) ||
        value > most) {
        return std::nullopt;
    }
    return value;
}

/// Returns a number with the normal distribution (Box and Muller).
double draw_normal(Prng& random) {
    const double radius = std::sqrt(-2 * std::log(draw_part(random)));
    return radius * std::cos(2 * std::numbers::pi * draw_part(random));
}

}  // namespace

double draw_part(Prng& random) {
    constexpr double kBits = 9007199254740992.0;  // 2^53
    return (static_cast<double>(random.next() >> 11) + 0.5) / kBits;
}

double draw_exponential(Prng& random, double mean) {
    return -mean * std::log(draw_part(random));
}

std::uint32_t Lengths::draw(Prng& random) const {
    double tokens = mean;
    switch (kind) {
        case Kind::kFixed:
            break;
        case Kind::kUniform:
            tokens = std::floor(low + draw_part(random) * (high - low + 1));
            break;
        case Kind::kExponential:
            tokens = draw_exponential(random, mean);
            break;
        case Kind::kLognormal:
            tokens = mean * std::exp(sigma * draw_normal(random) - sigma * sigma / 2);
            break;
    }
    return static_cast<std::uint32_t>(std::clamp(std::round(tokens), 1.0, kMost));
}

std::expected<Lengths, std::string> parse_lengths(std::string_view text) {
    const std::vector<std::string_view> parts = split(text);
    const auto tokens = [&](std::size_t i) { return number_of(parts[i], 1, Lengths::kMost); };
    if (parts.size() == 1 && tokens(0) && *tokens(0) == std::floor(*tokens(0))) {
        return Lengths{.mean = *tokens(0)};
    }
    if (parts.size() == 3 && parts[0] == "uniform" && tokens(1) && tokens(2) &&
        *tokens(1) <= *tokens(2)) {
        return Lengths{.kind = Lengths::Kind::kUniform,
                       .mean = (*tokens(1) + *tokens(2)) / 2,
                       .low = std::floor(*tokens(1)),
                       .high = std::floor(*tokens(2))};
    }
    if (parts.size() == 2 && parts[0] == "exp" && tokens(1)) {
        return Lengths{.kind = Lengths::Kind::kExponential, .mean = *tokens(1)};
    }
    if (parts.size() == 3 && parts[0] == "lognormal" && tokens(1)) {
        if (const auto sigma = number_of(parts[2], 0, kSigmaMost)) {
            return Lengths{.kind = Lengths::Kind::kLognormal, .mean = *tokens(1), .sigma = *sigma};
        }
    }
    return std::unexpected(kForms);
}

}  // namespace softib::plan
