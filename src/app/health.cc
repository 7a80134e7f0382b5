// SPDX-License-Identifier: BSD-2-Clause
#include "app/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "app/term.h"

namespace softib::app {

namespace {

std::string clock_text(std::time_t time) {
    std::tm local{};
    std::array<char, 16> text{};
    localtime_r(&time, &local);
    return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

}  // namespace

std::vector<HelperHealth> read_health(const Observer& observer) {
    live::Message message;
    message.request = live::Request::kHealth;
    std::vector<HelperHealth> helpers;
    if (observer.ask(message) != 0) {
        return helpers;
    }
    std::istringstream lines(std::string(message.text, message.text_bytes));
    HelperHealth helper;
    while (std::getline(lines, helper.name, '\t') &&
           lines >> helper.pid >> helper.restarts >> helper.last_end &&
           std::getline(lines.ignore(), helper.reason)) {
        helpers.push_back(helper);
    }
    return helpers;
}

std::string health_text(const std::vector<HelperHealth>& helpers) {
    std::string text;
    for (const HelperHealth& helper : helpers) {
        if (helper.last_end == 0) {
            continue;
        }
        const std::string when = clock_text(helper.last_end);
        text += text.empty() ? "" : "; ";
        text += helper.pid == 0
                    ? fmt::format("{} ended {} ({}) and waits to be restarted", helper.name, when,
                                  helper.reason)
                    : fmt::format("{} restarted {}, last {} ({})", helper.name,
                                  counted(helper.restarts, "time"), when, helper.reason);
    }
    return text.empty() ? "ok" : text;
}

bool all_run(const std::vector<HelperHealth>& helpers) {
    return std::ranges::all_of(helpers, [](const HelperHealth& helper) { return helper.pid != 0; });
}

}  // namespace softib::app
