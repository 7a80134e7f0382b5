// SPDX-License-Identifier: BSD-2-Clause
#include "plan/distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace softib::plan {

Distribution::Distribution(std::vector<double> values) : values_(std::move(values)) {
    std::ranges::sort(values_);
    if (!values_.empty()) {
        mean_ = std::accumulate(values_.begin(), values_.end(), 0.0) /
                static_cast<double>(values_.size());
    }
}

double Distribution::percentile(double percent) const {
    if (values_.empty()) {
        return kUnknown;
    }
    const double place = std::ceil(percent / 100 * static_cast<double>(values_.size()));
    return values_[static_cast<std::size_t>(std::max(place, 1.0)) - 1];
}

std::vector<Distribution::Bin> Distribution::histogram(std::uint32_t bins) const {
    if (values_.empty() || bins == 0) {
        return {};
    }
    const double low = std::max(min(), 1e-12);
    const double ratio = std::pow(max() / low, 1.0 / bins);
    if (!(ratio > 1.0)) {
        return {{min(), max(), values_.size()}};
    }
    std::vector<Bin> result;
    double from = min();
    auto at = values_.begin();
    for (std::uint32_t i = 1; i <= bins; ++i) {
        const double to = i == bins ? max() : low * std::pow(ratio, i);
        const auto end = i == bins ? values_.end() : std::lower_bound(at, values_.end(), to);
        result.push_back({from, to, static_cast<std::uint64_t>(end - at)});
        at = end;
        from = to;
    }
    return result;
}

}  // namespace softib::plan
