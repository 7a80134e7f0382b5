// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/codes.h"

#include <algorithm>
#include <array>
#include <span>

namespace softib::sm {

namespace {

// The codes in the order of the values that they stand for.
constexpr std::uint8_t kMtus[] = {1, 2, 3, 4, 5};
constexpr std::uint8_t kRates[] = {2, 5,  3,  11, 6,  15, 19, 4,  7,  20, 12, 8,
                                   9, 16, 13, 10, 14, 17, 18, 21, 22, 23, 24};
/// The rates of these codes, in tenths of a Gb/s.
constexpr std::uint32_t kTenths[] = {25,   50,   100,  140,  200,  250,  280,  300,
                                     400,  500,  560,  600,  800,  1000, 1120, 1200,
                                     1680, 2000, 3000, 4000, 6000, 8000, 12000};
static_assert(std::size(kTenths) == std::size(kRates));
constexpr std::size_t kCodes = 64;

constexpr auto kRateRanks = [] {
    std::array<std::int8_t, kCodes> ranks{};
    ranks.fill(-1);
    for (std::size_t i = 0; i < std::size(kRates); ++i) {
        ranks[kRates[i]] = static_cast<std::int8_t>(i);
    }
    return ranks;
}();

/// Codes of rates by generation, then by width: 1X, 2X, 4X, 8X, 12X.
constexpr std::uint8_t kLinkRates[][5] = {
    {2, 5, 3, 6, 4},       // SDR
    {5, 3, 6, 7, 8},       // DDR
    {3, 6, 7, 9, 10},      // QDR
    {11, 19, 12, 13, 14},  // FDR
    {15, 20, 16, 17, 18},  // EDR
    {20, 16, 17, 21, 22},  // HDR
    {16, 17, 21, 23, 24},  // NDR
    {17, 21, 23, 24, 24},  // XDR; there is no code above 1200 Gb/s.
};

std::optional<std::size_t> generation_of(const wire::PortInfo& port) {
    if (port.link_speed_ext_active2 != 0) {
        return 7;
    }
    switch (port.link_speed_ext_active) {
        case wire::link_speed_ext::kFdr:
            return 3;
        case wire::link_speed_ext::kEdr:
            return 4;
        case wire::link_speed_ext::kHdr:
            return 5;
        case wire::link_speed_ext::kNdr:
            return 6;
        default:
            break;
    }
    switch (port.link_speed_active) {
        case wire::link_speed::kSdr:
            return 0;
        case wire::link_speed::kDdr:
            return 1;
        case wire::link_speed::kQdr:
            return 2;
        default:
            return std::nullopt;
    }
}

std::optional<std::size_t> width_of(const wire::PortInfo& port) {
    switch (port.link_width_active) {
        case wire::link_width::k1x:
            return 0;
        case wire::link_width::k2x:
            return 1;
        case wire::link_width::k4x:
            return 2;
        case wire::link_width::k8x:
            return 3;
        case wire::link_width::k12x:
            return 4;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<std::uint32_t> rate_tenths(std::uint8_t code) {
    const int rank = rank_of(Quantity::kRate, code);
    return rank < 0 ? std::nullopt : std::optional(kTenths[rank]);
}

std::optional<std::uint8_t> rate_code(std::uint32_t tenths) {
    const auto* const found = std::ranges::find(kTenths, tenths);
    return found == std::end(kTenths) ? std::nullopt
                                      : std::optional(kRates[found - std::begin(kTenths)]);
}

int rank_of(Quantity quantity, std::uint8_t code) {
    switch (quantity) {
        case Quantity::kMtu:
            return code >= kMtus[0] && code <= std::size(kMtus) ? code : -1;
        case Quantity::kRate:
            return code < kCodes ? kRateRanks[code] : -1;
        case Quantity::kLifeTime:
            return code < kCodes ? code : -1;
    }
    return -1;
}

bool is_valid(Quantity quantity, std::uint8_t code) {
    return rank_of(quantity, code) >= 0;
}

std::uint8_t lesser(Quantity quantity, std::uint8_t a, std::uint8_t b) {
    return rank_of(quantity, a) <= rank_of(quantity, b) ? a : b;
}

std::uint8_t rate_of(const wire::PortInfo& port) {
    const auto generation = generation_of(port);
    const auto width = width_of(port);
    return generation && width ? kLinkRates[*generation][*width] : std::uint8_t{0};
}

std::uint8_t mtu_of(const wire::PortInfo& port) {
    return port.neighbor_mtu != 0 ? port.neighbor_mtu : port.mtu_cap;
}

bool Wish::allows(std::uint8_t actual) const {
    if (!given) {
        return true;
    }
    const int asked = rank_of(quantity, value);
    const int found = rank_of(quantity, actual);
    switch (selector) {
        case wire::Selector::kGreaterThan:
            return found > asked;
        case wire::Selector::kLessThan:
            return found < asked;
        case wire::Selector::kExactly:
            return found == asked;
        case wire::Selector::kBest:
            return true;
    }
    return false;
}

std::optional<std::uint8_t> Wish::realize(std::uint8_t most) const {
    const std::span<const std::uint8_t> scale =
        quantity == Quantity::kMtu ? std::span<const std::uint8_t>(kMtus) : kRates;
    for (auto code = std::ranges::find(scale, most); code != scale.end();) {
        if (allows(*code)) {
            return *code;
        }
        code = code == scale.begin() ? scale.end() : code - 1;
    }
    return std::nullopt;
}

}  // namespace softib::sm
