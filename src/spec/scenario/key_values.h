// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Setters of a scenario's keys, by the kind of value: counts, times, sizes.

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "plan/units.h"
#include "spec/scenario/scenario.h"

namespace softib::spec {

/// Stores a parsed number in kField(target). Returns an error if it was not parsed or is not from
/// `least` to `most`, which `shown` says in the unit of the key.
template <auto kField, typename Target, typename Parsed, typename Shown>
Result put(Target& target, const Parsed& parsed, std::uint64_t least, std::uint64_t most,
           Shown shown) {
    if (!parsed) {
        return std::unexpected(parsed.error());
    }
    if (*parsed < least || *parsed > most) {
        return std::unexpected(fmt::format("must be from {} to {}", shown(least), shown(most)));
    }
    kField(target) = static_cast<std::remove_reference_t<decltype(kField(target))>>(*parsed);
    return {};
}
template <auto kField, typename Target, typename Parsed>
Result put(Target& target, const Parsed& parsed, std::uint64_t least, std::uint64_t most) {
    return put<kField>(target, parsed, least, most, [](std::uint64_t limit) { return limit; });
}

inline constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();

template <auto kField, std::uint64_t kLeast = 0, std::uint64_t kLargest = kMost>
Result count(Scenario& scenario, const std::string& text) {
    return put<kField>(scenario, plan::parse_count(text), kLeast, kLargest);
}

template <auto kField, std::uint64_t kLargest = plan::kNever>
Result time(Scenario& scenario, const std::string& text) {
    return put<kField>(scenario, plan::parse_time(text), 0, kLargest, plan::show_time);
}

template <auto kField>
Result size(Scenario& scenario, const std::string& text) {
    return put<kField>(scenario, plan::parse_size(text), 1, kMost);
}

}  // namespace softib::spec
