// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "core/routing/verifier.h"
#include "view/json.h"
#include "view/manager.h"
#include "view/routes.h"

namespace softib::app {

namespace {

using view::Json;

shm::ManagerCommand command_of(const std::string& action) {
    if (action == "resweep") {
        return shm::ManagerCommand::kResweep;
    }
    return action == "handover" ? shm::ManagerCommand::kHandOver : shm::ManagerCommand::kStatus;
}

/// Verifies the routes that the switches hold now, and returns the verdict. Entries that did not
/// come from the manager (softib route) are checked too.
std::string verified(const Observer& observer) {
    const auto routes = view::read_routes(observer.arena(), observer.daemon());
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

void print(const Json& json, bool as_json) {
    if (as_json) {
        fmt::print("{}", json_text(json));
        return;
    }
    for (const auto& [name, value] : json.items()) {
        fmt::print("{:<16}{}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
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
    const auto manager = view::ask_manager(observer->daemon(), command_of(options.action));
    const int error = manager ? 0 : manager.error();
    if (error == ENOENT) {
        return fail("this fabric runs without our subnet manager (--sm none, --sm opensm)");
    }
    if (error == EHOSTUNREACH) {
        return fail(
            "no other subnet manager would keep the subnet: start one of a higher priority first, "
            "softib exec HOST -- softib-sm --priority 1 (or opensm -p 1)");
    }
    if (error != 0) {
        return fail(why_not(error));
    }
    Json json = to_json(*manager);
    if (options.action == "status") {
        json["verified"] = verified(*observer);
    }
    print(json, options.json);
    return 0;
}

}  // namespace softib::app
