// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A set of numbers in order: percentiles, mean, histogram.

#include <cstdint>
#include <vector>

namespace softib::plan {

class Distribution {
  public:
    Distribution() = default;
    explicit Distribution(std::vector<double> values);

    std::size_t count() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    double min() const { return values_.empty() ? 0 : values_.front(); }
    double max() const { return values_.empty() ? 0 : values_.back(); }
    double mean() const { return mean_; }
    /// The smallest value that so many percent do not exceed; 0 if there is none.
    double percentile(double percent) const;
    /// In ascending order.
    const std::vector<double>& values() const { return values_; }

    struct Bin {
        double from = 0;
        double to = 0;  ///< Not included, but for the last one.
        std::uint64_t count = 0;
    };
    /// At most `bins` of equal ratio, from the smallest value to the largest.
    std::vector<Bin> histogram(std::uint32_t bins) const;

  private:
    std::vector<double> values_;
    double mean_ = 0;
};

}  // namespace softib::plan
