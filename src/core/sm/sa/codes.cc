// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/codes.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/topo/link_speed.h"

namespace softib::sm {

namespace {

// The codes in the order of the values that they stand for.
constexpr std::uint8_t kMtus[] = {1, 2, 3, 4, 5};
constexpr std::uint8_t kRates[] = {2, 5,  3,  11, 6,  15, 19, 4,  7,  20, 12, 8,
                                   9, 16, 13, 10, 14, 17, 18, 21, 22, 23, 24, 25};
/// The rates of these codes, in tenths of a Gb/s.
constexpr std::uint32_t kTenths[] = {25,   50,   100,  140,  200,  250,  280,   300,
                                     400,  500,  560,  600,  800,  1000, 1120,  1200,
                                     1680, 2000, 3000, 4000, 6000, 8000, 12000, 16000};
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

/// Returns the nominal rate of a port's link in tenths of a Gb/s; 0 if it is down.
std::uint32_t tenths_of(const wire::PortInfo& port) {
    const bool slow = port.link_speed_ext_active == 0 && port.link_speed_ext_active2 == 0;
    if (slow && port.link_speed_active == 0) {
        return 0;
    }
    for (const topo::Width width : topo::kWidths) {
        if (port.link_width_active == static_cast<std::uint8_t>(width)) {
            const topo::Generation generation = topo::fastest_of(
                port.link_speed_active, port.link_speed_ext_active, port.link_speed_ext_active2);
            return topo::link_speed(generation, width).mbps / 100;
        }
    }
    return 0;
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
    // A link between two codes, or beyond the last, has the code below.
    const auto* const above = std::ranges::upper_bound(kTenths, tenths_of(port));
    return above == std::begin(kTenths) ? std::uint8_t{0} : kRates[above - std::begin(kTenths) - 1];
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
