// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes timelines for chrome://tracing and Perfetto: processes with rows, and spans of time on
// the rows.

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/units.h"

namespace softib::plan {

/// A timeline in Chrome's trace event format. A process and its rows are known by their numbers.
class ChromeTrace {
  public:
    void name_process(std::uint32_t process, std::string_view name);
    void name_row(std::uint32_t process, std::uint32_t row, std::string_view name);
    void span(std::uint32_t process, std::uint32_t row, std::string_view name,
              std::string_view category, TimePs start, TimePs end);
    /// Returns the timeline as JSON.
    std::string text() const {
        return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + lines_ + "\n]}\n";
    }

  private:
    void line(const std::string& event) { lines_ += (lines_.empty() ? "" : ",\n") + event; }
    std::string lines_ = {};
};

}  // namespace softib::plan
