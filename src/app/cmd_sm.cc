// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "app/commands.h"
#include "app/json_text.h"
#include "app/observe.h"
#include "app/term.h"
#include "core/routing/verifier.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDigitsMax = 19;  // Of a number of 64 bits.

live::ManagerCommand command_of(const std::string& action) {
    if (action == "resweep") {
        return live::ManagerCommand::kResweep;
    }
    return action == "handover" ? live::ManagerCommand::kHandOver : live::ManagerCommand::kStatus;
}

/// Looked at anew whenever somebody asks, in what the switches hold: what was written behind the
/// manager's back shows too.
std::string verified(const Observer& observer) {
    const auto routes = read_routes(observer);
    if (!routes) {
        return "no: " + routes.error();
    }
    const routing::Report report = verify(routes->graph, routes->tables, routing::kSoundness);
    if (routes->not_active + routes->without_lid != 0) {
        return fmt::format("no: {} not active, {} without a LID",
                           counted(routes->not_active, "port"), routes->without_lid);
    }
    if (!report.arrives()) {
        return fmt::format("no: {} of {} pairs lost (see softib routes check)", report.reach.lost,
                           report.reach.pairs);
    }
    if (!report.acyclic()) {
        return "no: credit loop (see softib routes check)";
    }
    return routes->sls_known ? "yes" : "yes, with service level 0";
}

/// Lines of "name value", as the daemon writes them.
void print(const std::string& text, bool as_json) {
    Json json;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        const std::string name = line.substr(0, space);
        const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
        if (as_json) {
            const bool number = !value.empty() && value.size() < kDigitsMax &&
                                value.find_first_not_of("0123456789") == std::string::npos;
            json[name] = number ? Json(std::stoull(value)) : Json(value);
        } else {
            fmt::print("{:<16}{}\n", name, value);
        }
    }
    if (as_json) {
        fmt::print("{}", json_text(json));
    }
}

}  // namespace

int cmd_sm(const SmOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (auto subnet = check_subnet(*observer); !subnet) {
        return fail(subnet.error());
    }
    live::Message message;
    message.request = live::Request::kManager;
    message.value = static_cast<std::uint32_t>(command_of(options.action));
    const int error = observer->ask(message);
    if (error == ENOENT) {
        return fail("this fabric runs without our subnet manager (--sm none, --sm opensm)");
    }
    if (error == EHOSTUNREACH) {
        return fail(
            "no other subnet manager would keep the subnet: start one of a higher priority first, "
            "softib exec HOST -- softib-sm --priority 1 (or opensm -p 1)");
    }
    if (error != 0) {
        return fail(fmt::format("softibd refuses: {}", std::strerror(error)));
    }
    std::string text(message.text, message.text_bytes);
    if (options.action == "status") {
        text += fmt::format("verified {}\n", verified(*observer));
    }
    print(text, options.json);
    return 0;
}

}  // namespace softib::app
