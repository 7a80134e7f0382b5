// SPDX-License-Identifier: BSD-2-Clause
#include "plan/chrome_trace.h"

#include <fmt/format.h>

namespace softib::plan {

namespace {

double micros_of(TimePs time) {
    return static_cast<double>(time) * 1e-6;
}

/// Returns a name that is safe between quotes of JSON: names in traces may have any bytes.
std::string quotable(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c == '"' || c == '\\') {
            text.push_back('\\');
        }
        const bool plain = c >= ' ' && c <= '~';
        text.push_back(plain ? c : '?');
    }
    return text;
}

}  // namespace

void ChromeTrace::name_process(std::uint32_t process, std::string_view name) {
    line(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})",
                     process, quotable(name)));
}

void ChromeTrace::name_row(std::uint32_t process, std::uint32_t row, std::string_view name) {
    line(
        fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                    process, row, quotable(name)));
}

void ChromeTrace::span(std::uint32_t process, std::uint32_t row, std::string_view name,
                       std::string_view category, TimePs start, TimePs end) {
    line(fmt::format(
        R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
        quotable(name), category, process, row, micros_of(start), micros_of(end - start)));
}

}  // namespace softib::plan
