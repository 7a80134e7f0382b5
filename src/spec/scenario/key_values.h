// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Setters of a scenario's keys by what their values are.

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "plan/units.h"
#include "spec/scenario/scenario.h"

namespace softib::spec {

/// What `parse` makes of the text goes where `field` of the target says, if it lies within.
template <auto kField, typename Target, typename Parsed>
Result put(Target& target, const Parsed& parsed, std::uint64_t least, std::uint64_t most) {
    if (!parsed) {
        return std::unexpected(parsed.error());
    }
    if (*parsed < least || *parsed > most) {
        return std::unexpected(fmt::format("must be from {} to {}", least, most));
    }
    kField(target) = static_cast<std::remove_reference_t<decltype(kField(target))>>(*parsed);
    return {};
}

inline constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();

template <auto kField, std::uint64_t kLeast = 0, std::uint64_t kLargest = kMost>
Result count(Scenario& scenario, const std::string& text) {
    return put<kField>(scenario, plan::parse_count(text), kLeast, kLargest);
}

template <auto kField, std::uint64_t kLargest = plan::kNever>
Result time(Scenario& scenario, const std::string& text) {
    return put<kField>(scenario, plan::parse_time(text), 0, kLargest);
}

template <auto kField>
Result size(Scenario& scenario, const std::string& text) {
    return put<kField>(scenario, plan::parse_size(text), 1, kMost);
}

}  // namespace softib::spec
