// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The daemon's log: one line for each event, to a file of bounded size or to stderr. A line that
// comes again and again is written once, and then how often it was repeated. Only the code that
// decides that something is an error logs it. LIDs are decimal, QPNs hexadecimal. Libraries that
// programs load never log.

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

namespace softib::daemon {

enum class LogLevel { kInfo, kWarning, kError };

/// The largest size of a log file, which is then renamed from NAME.log to NAME.1.log and begun
/// anew.
inline constexpr std::size_t kLogBytesMax = std::size_t{1} << 20;

/// Appends the log to a file from now on. Returns false, with nothing changed, if the file cannot
/// be opened.
bool log_to_file(const std::string& path, std::size_t bytes_max = kLogBytesMax);
void log_to_stderr();

void log_text(LogLevel level, const std::string& text);
/// Writes how often the last line was repeated, if it was repeated and was written some time ago.
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

}  // namespace softib::daemon
