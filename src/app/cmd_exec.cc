// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "app/commands.h"
#include "app/enter_host.h"
#include "app/term.h"

namespace softib::app {

namespace {

/// For a POSIX shell.
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
    const auto fabric = resolve_fabric(options.fabric);
    auto host = fabric ? prepare_host(*fabric, options.host) : std::unexpected(fabric.error());
    if (host) {
        host->rsockets = options.rsockets;
        host->real_hostname = options.real_hostname;
    }
    return host;
}

}  // namespace

int cmd_exec(const ExecOptions& options) {
    if (options.command.empty()) {
        return fail(fmt::format("say what to run: softib exec {} -- COMMAND", options.host));
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
    return become_program(*host, options.command);
}

int cmd_env(const ExecOptions& options) {
    const auto host = prepare(options);
    if (!host) {
        return fail(host.error());
    }
    for (const auto& [name, value] : host_variables(*host)) {
        fmt::print("export {}={}\n", name, quoted(value));
    }
    return 0;
}

}  // namespace softib::app
