// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A sorted set of numbers, with its percentiles, mean and histogram.

#include <cstdint>
#include <vector>

#include "plan/units.h"

namespace softib::plan {

class Distribution {
  public:
    Distribution() = default;
    explicit Distribution(std::vector<double> values);

    std::size_t count() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    // These are kUnknown if there are no values.
    double min() const { return values_.empty() ? kUnknown : values_.front(); }
    double max() const { return values_.empty() ? kUnknown : values_.back(); }
    double mean() const { return mean_; }
    /// Returns the smallest value that `percent` percent of the values do not exceed.
    double percentile(double percent) const;
    /// Returns the values in ascending order.
    const std::vector<double>& values() const { return values_; }

    struct Bin {
        double from = 0;
        double to = 0;  ///< Upper limit; only the last bin includes a value equal to it.
        std::uint64_t count = 0;
    };
    /// Returns at most `bins` bins from the smallest value to the largest, each wider than the one
    /// before by the same factor.
    std::vector<Bin> histogram(std::uint32_t bins) const;

  private:
    std::vector<double> values_;
    double mean_ = kUnknown;
};

}  // namespace softib::plan
