// SPDX-License-Identifier: BSD-2-Clause
#include "view/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

std::string clock_text(std::time_t time) {
    std::tm local{};
    std::array<char, 16> text{};
    localtime_r(&time, &local);
    return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

}  // namespace

std::vector<Helper> read_health(int daemon) {
    live::Message message;
    live::request::Health::Reply told;
    std::vector<Helper> helpers;
    if (live::rpc_ask(daemon, live::request::Health{}, message, told) != 0) {
        return helpers;
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(told.count, told.helpers.size()); ++i) {
        const live::request::Helper& helper = told.helpers[i];
        helpers.push_back({.name = std::string(helper.name),
                           .pid = helper.pid,
                           .restarts = helper.restarts,
                           .last_end = helper.last_end,
                           .reason = std::string(helper.reason)});
    }
    return helpers;
}

std::string health_text(const std::vector<Helper>& helpers) {
    std::string text;
    for (const Helper& helper : helpers) {
        if (helper.last_end == 0) {
            continue;
        }
        const std::string when = clock_text(helper.last_end);
        text += text.empty() ? "" : "; ";
        text += helper.pid == 0 ? fmt::format("{} ended {} ({}) and waits to be restarted",
                                              helper.name, when, helper.reason)
                                : fmt::format("{} restarted {} time{}, last {} ({})", helper.name,
                                              helper.restarts, helper.restarts == 1 ? "" : "s",
                                              when, helper.reason);
    }
    return text.empty() ? "ok" : text;
}

bool all_run(const std::vector<Helper>& helpers) {
    return std::ranges::all_of(helpers, [](const Helper& helper) { return helper.pid != 0; });
}

}  // namespace softib::view
