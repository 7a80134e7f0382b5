// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace softib::live {

namespace {

void use_sink(spdlog::sink_ptr sink) {
    auto logger = std::make_shared<spdlog::logger>("softibd", std::move(sink));
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
}

}  // namespace

bool log_to_file(const std::string& path) {
    try {
        use_sink(std::make_shared<spdlog::sinks::basic_file_sink_st>(path));
    } catch (const spdlog::spdlog_ex&) {
        return false;
    }
    return true;
}

void log_to_stderr() {
    use_sink(std::make_shared<spdlog::sinks::stderr_sink_st>());
}

void log_text(LogLevel level, const std::string& text) {
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

}  // namespace softib::live
