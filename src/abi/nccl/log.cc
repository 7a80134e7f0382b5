// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace softib::abi::nccl {

namespace {

constexpr int kWarnLevel = 2;
constexpr int kInfoLevel = 3;
constexpr unsigned long kInitAndNet = 0x1 | 0x10;

std::atomic<Logger> the_logger{nullptr};

void log_line(int level, const char* format, std::va_list arguments) {
    const Logger logger = the_logger.load(std::memory_order_relaxed);
    if (logger == nullptr) {
        return;
    }
    char line[512];
    std::vsnprintf(line, sizeof line, format, arguments);
    logger(level, kInitAndNet, "softib", 0, "NET/softib : %s", line);
}

}  // namespace

void set_logger(Logger logger) {
    the_logger.store(logger, std::memory_order_relaxed);
}

void inform(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    log_line(kInfoLevel, format, arguments);
    va_end(arguments);
}

void warn(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    log_line(kWarnLevel, format, arguments);
    va_end(arguments);
}

}  // namespace softib::abi::nccl
