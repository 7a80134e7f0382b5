// SPDX-License-Identifier: BSD-2-Clause
#include "view/health.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>

#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

constexpr int kAskAgainMs = 20;

std::string clock_text(std::time_t time) {
    std::tm local{};
    std::array<char, 16> text{};
    localtime_r(&time, &local);
    return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

/// Returns whether the daemon still waits for the answer of a helper.
bool is_asked(const shm::request::Health::Reply& told) {
    return std::ranges::any_of(told.helpers, [](const shm::request::Helper& helper) {
        return helper.state == HelperState::kAsked;
    });
}

/// Returns what to do about a helper that does not answer; empty if it does.
std::string trouble_of(const Helper& helper) {
    switch (helper.state) {
        case HelperState::kStopped:
            return fmt::format(
                "{0} (pid {1}) does not answer: it is stopped; kill -CONT {1} lets it go on, "
                "kill -KILL {1} has it restarted",
                helper.name, helper.pid);
        case HelperState::kSilent:
            return fmt::format("{0} (pid {1}) does not answer; kill -KILL {1} has it restarted",
                               helper.name, helper.pid);
        default:
            return {};
    }
}

}  // namespace

std::vector<Helper> read_health(int daemon) {
    shm::Message message;
    shm::request::Health::Reply told;
    std::vector<Helper> helpers;
    while (shm::rpc_ask(daemon, shm::request::Health{}, message, told) == 0 && is_asked(told)) {
        poll(nullptr, 0, kAskAgainMs);
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(told.count, told.helpers.size()); ++i) {
        const shm::request::Helper& helper = told.helpers[i];
        helpers.push_back({.name = std::string(helper.name),
                           .state = helper.state,
                           .pid = helper.pid,
                           .restarts = helper.restarts,
                           .last_end = helper.last_end,
                           .reason = std::string(helper.reason)});
    }
    return helpers;
}

std::string_view state_name(HelperState state) {
    switch (state) {
        case HelperState::kEnded:
            return "ended";
        case HelperState::kStopped:
            return "stopped";
        case HelperState::kSilent:
            return "silent";
        default:
            return "runs";
    }
}

std::string helpers_text(const std::vector<Helper>& helpers) {
    std::string text;
    for (const Helper& helper : helpers) {
        if (const std::string trouble = trouble_of(helper); !trouble.empty()) {
            text += (text.empty() ? "" : "; ") + trouble;
            continue;
        }
        if (helper.last_end == 0) {
            continue;
        }
        const std::string when = clock_text(helper.last_end);
        text += text.empty() ? "" : "; ";
        text +=
            helper.state == HelperState::kEnded
                ? fmt::format("{} ended {} ({}) and waits to be restarted", helper.name, when,
                              helper.reason)
                : fmt::format("{} restarted {} time{}, last {} ({})", helper.name, helper.restarts,
                              helper.restarts == 1 ? "" : "s", when, helper.reason);
    }
    return text.empty() ? "ok" : text;
}

bool all_run(const std::vector<Helper>& helpers) {
    return std::ranges::all_of(helpers, [](const Helper& helper) {
        return helper.state == HelperState::kRuns || helper.state == HelperState::kAsked;
    });
}

}  // namespace softib::view
