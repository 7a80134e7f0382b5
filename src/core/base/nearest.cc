// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace softib {

namespace {

constexpr std::size_t kSuggestionDistanceMax = 3;

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view misspelt,
                                             std::span<const std::string_view> names) {
    const auto distance = [&](std::string_view name) {
        return std::pair(edit_distance(misspelt, name), !name.starts_with(misspelt));
    };
    const auto nearest = std::ranges::min_element(names, {}, distance);
    const std::size_t most =
        std::clamp(misspelt.size() / 2, std::size_t{1}, kSuggestionDistanceMax);
    if (nearest == names.end() || distance(*nearest).first > most) {
        return std::nullopt;
    }
    return *nearest;
}

std::string unknown_name(std::string_view what, std::string_view misspelt,
                         std::span<const std::string_view> names) {
    if (const auto nearest = nearest_name(misspelt, names)) {
        return fmt::format("unknown {} '{}'; did you mean '{}'?", what, misspelt, *nearest);
    }
    return fmt::format("unknown {} '{}'; the {}s are {}", what, misspelt, what,
                       fmt::join(names, ", "));
}

}  // namespace softib
