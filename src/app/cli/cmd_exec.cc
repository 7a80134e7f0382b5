// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/enter_host.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

/// Returns a text in quotes for a POSIX shell.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::expected<HostEnvironment, std::string> prepare(const ExecOptions& options) {
    const auto fabric = find_fabric(options.fabric);
    auto host = fabric ? prepare_host(*fabric, options.host) : std::unexpected(fabric.error());
    if (host) {
        host->rsockets = options.rsockets;
        host->enforce_memlock = options.enforce_memlock;
        host->real_hostname = options.real_hostname;
    }
    return host;
}

}  // namespace

int cmd_exec(const ExecOptions& options) {
    if (options.command.empty()) {
        return misuse(fmt::format("say what to run: softib exec {} -- COMMAND", options.host));
    }
    auto host = prepare(options);
    if (!host) {
        return fail(host.error());
    }
    if (options.use_namespace) {
        host->preload = false;
        if (auto entered = enter_namespace(*host); !entered) {
            return fail(entered.error());
        }
    }
    if (options.json) {  // The program will have this process's pid.
        report_line({{"fabric", host->fabric.name},
                     {"host", options.host},
                     {"pid", getpid()},
                     {"command", options.command}});
    }
    return become_program(*host, options.command);
}

int cmd_am(AmOptions options) {
    const auto observer = Observer::open(options.where.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (const auto subnet = check_subnet(*observer); !subnet) {
        return fail(subnet.error());
    }
    spec::Description description;
    if (auto loaded =
            spec::load_description(observer->fabric().dir + "/" + kDescriptionName, description);
        !loaded) {
        return fail(loaded.error());
    }
    if (description.aggregation != "none") {
        return fail(
            fmt::format("fabric '{}' has an aggregation manager; one for a host needs a "
                        "fabric without: softib up --am none",
                        observer->fabric().name));
    }
    options.where.command = {"softib-am"};
    if (!options.key.empty()) {
        options.where.command.insert(options.where.command.end(), {"--am-key", options.key});
    }
    if (options.once) {
        options.where.command.emplace_back("--once");
    }
    return cmd_exec(options.where);
}

int cmd_env(const ExecOptions& options) {
    const auto host = prepare(options);
    if (!host) {
        return fail(host.error());
    }
    if (options.json) {
        nlohmann::ordered_json out = nlohmann::ordered_json::object();
        for (const auto& [name, value] : host_variables(*host)) {
            out[name] = value;
        }
        fmt::print("{}", json_text(out));
        return 0;
    }
    for (const auto& [name, value] : host_variables(*host)) {
        fmt::print("export {}={}\n", name, quoted(value));
    }
    return 0;
}

}  // namespace softib::app
