// SPDX-License-Identifier: BSD-2-Clause
// softib telemetry and softib serve: become softib-telemetry, a program of its own because of the
// libraries that it needs.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/cli/commands.h"
#include "app/fabric/environment.h"
#include "app/fabric/observe.h"
#include "app/fabric/telemetry_program.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

std::vector<std::string> arguments(const TelemetryCommand& command) {
    std::vector<std::string> args;
    const auto add = [&](const char* flag, const std::string& value) {
        if (!value.empty()) {
            args.insert(args.end(), {flag, value});
        }
    };
    add("--history", command.history);
    add("--history-max", command.history_max);
    add("--rules", command.rules);
    add("--sysfs", command.sysfs);
    add("--port", command.port);
    add("--address", command.address);
    add("--cert", command.cert);
    add("--key", command.key);
    add("--exporter", command.exporter);
    add("--counters", command.counters);
    for (const std::string& name : command.names) {
        add("--name", name);
    }
    for (const auto& [flag, on] : {std::pair{"--serve", command.serve},
                                   {"--allow-control", command.allow_control},
                                   {"--json", command.json}}) {
        if (on) {
            args.emplace_back(flag);
        }
    }
    return args;
}

/// Returns why options do not go together; empty if they do.
std::string wrong_together(const TelemetryCommand& command) {
    if (command.cert.empty() != command.key.empty()) {
        return "--cert and --key belong together";
    }
    const std::string source = command.umad                ? "--umad"
                               : command.recording.empty() ? ""
                                                           : "--recording";
    if (command.fabric && !source.empty()) {
        return fmt::format("--fabric changes nothing beside {}: leave out one of both", source);
    }
    if (command.umad && command.history.empty() && !command.history_max.empty()) {
        return "--history-max changes nothing here: with --umad it needs --history";
    }
    return {};
}

}  // namespace

int cmd_telemetry(const TelemetryCommand& command) {
    if (const std::string why = wrong_together(command); !why.empty()) {
        return misuse(why);
    }
    if (!command.recording.empty() && access(command.recording.c_str(), R_OK) != 0) {
        return fail(fmt::format("cannot read {}: {}", command.recording, std::strerror(errno)));
    }
    if (auto there = check_telemetry(true); !there) {
        return fail(there.error());
    }
    std::vector<std::string> args{telemetry_program()};
    if (command.umad) {
        args.insert(args.end(), {"--umad", *command.umad});
    } else if (!command.recording.empty()) {
        args.insert(args.end(), {"--recording", command.recording});
    } else {
        const auto observer = Observer::open(command.fabric);
        if (!observer) {
            return fail(observer.error());
        }
        args.insert(args.end(), {"--dir", observer->fabric().dir});
    }
    const std::vector<std::string> more = arguments(command);
    args.insert(args.end(), more.begin(), more.end());
    execv(args[0].c_str(), to_argv(args).data());
    return fail(fmt::format("cannot start {}: {}", args[0], std::strerror(errno)));
}

}  // namespace softib::app
