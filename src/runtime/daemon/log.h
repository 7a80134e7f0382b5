// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The daemon's log: one line per event, to a file of bounded size or to stderr. A line that comes
// again and again is written once, and then how often it was repeated. Who decides that something
// is an error logs it, nobody else. LIDs are decimal, QPNs hexadecimal. Never called by the shims.

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

namespace softib::live {

enum class LogLevel { kInfo, kWarning, kError };

/// A log file that has grown so large is renamed, from NAME.log to NAME.1.log, and begun anew.
inline constexpr std::size_t kLogBytesMax = std::size_t{1} << 20;

/// Sends the log to a file that is appended to. False: it could not be opened, the log stays
/// where it was.
bool log_to_file(const std::string& path, std::size_t bytes_max = kLogBytesMax);
void log_to_stderr();

void log_text(LogLevel level, const std::string& text);
/// Writes how often the last line was repeated, if it was and that is some time ago.
void log_repeats();

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
    log_text(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    log_text(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
    log_text(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace softib::live
