// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <memory>

#include "runtime/shm/clock.h"

namespace softib::daemon {

namespace {

/// How often the repetitions of a line that keeps coming are reported.
constexpr std::uint64_t kRepeatNs = 10'000'000'000;

void use_sink(spdlog::sink_ptr sink) {
    auto logger = std::make_shared<spdlog::logger>("softibd", std::move(sink));
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

void write_line(LogLevel level, const std::string& text) {
    switch (level) {
        case LogLevel::kInfo:
            spdlog::info(text);
            break;
        case LogLevel::kWarning:
            spdlog::warn(text);
            break;
        case LogLevel::kError:
            spdlog::error(text);
            break;
    }
}

/// The last line, and how often it came again since its repetitions were last reported.
struct Repeated {
    LogLevel level{};
    std::string text;
    std::uint64_t count = 0;
    std::uint64_t written_ns = 0;
};
Repeated g_repeated;

void write_repeats() {
    if (g_repeated.count != 0) {
        write_line(g_repeated.level,
                   fmt::format("repeated {} time{}: {}", g_repeated.count,
                               g_repeated.count == 1 ? "" : "s", g_repeated.text));
        g_repeated.count = 0;
        g_repeated.written_ns = shm::monotonic_ns();
    }
}

}  // namespace

bool log_to_file(const std::string& path, std::size_t bytes_max) {
    try {
        use_sink(std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, bytes_max, 1));
    } catch (const spdlog::spdlog_ex&) {
        return false;
    }
    return true;
}

void log_to_stderr() {
    use_sink(std::make_shared<spdlog::sinks::stderr_sink_st>());
}

void log_text(LogLevel level, const std::string& text) {
    Repeated& last = g_repeated;
    if (text == last.text && level == last.level) {
        ++last.count;
        log_repeats();
        return;
    }
    write_repeats();
    last = {level, text, 0, shm::monotonic_ns()};
    write_line(level, text);
}

void log_repeats() {
    if (shm::monotonic_ns() - g_repeated.written_ns >= kRepeatNs) {
        write_repeats();
    }
}

}  // namespace softib::daemon
