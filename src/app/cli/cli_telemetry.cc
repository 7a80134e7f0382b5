// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that watch a fabric over time: telemetry, serve, health.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"

namespace softib::app {
namespace {

/// As softib-telemetry checks it (telemetry/store/history.h).
constexpr std::uint64_t kHistoryBytesMin = std::uint64_t{1} << 20;

/// Returns why a text cannot be the name of a host; empty if it can. For CLI11's check().
std::string check_host_name(const std::string& name) {
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
    });
    return is_name ? "" : fmt::format("'{}' is no host name: take one as lab.example.org", name);
}

void add_sampling(CLI::App& app, TelemetryCommand& command) {
    add_fabric_choice(app, command.fabric);
    CLI::Option* const umad =
        app.add_option("--umad", command.umad,
                       "read any InfiniBand fabric through this HCA instead, by MADs")
            ->type_name("DEVICE[:PORT]");
    app.add_option("--recording", command.recording,
                   "or a simulation that runs or is over, from the file of softib sim --record")
        ->type_name("FILE")
        ->excludes(umad);
    app.add_option("--history", command.history,
                   "the file with its past (default: in the fabric's directory)")
        ->type_name("FILE");
    app.add_option("--history-max", command.history_max,
                   "bytes of it at most, 1048576 or more (default: 536870912)")
        ->type_name("BYTES")
        ->check(whole_number(kHistoryBytesMin, UINT64_MAX));
    app.add_option("--rules", command.rules, "rules for alarms (TOML) instead of the built-in")
        ->type_name("FILE");
    app.add_option("--sysfs", command.sysfs,
                   "also write files in the shape of /sys, for "
                   "node_exporter")
        ->type_name("DIR");
    app.add_flag("--json", command.json, "print where it is as a line of JSON, when it is ready");
}

Command add_telemetry(CLI::App& app, Parsed& parsed) {
    TelemetryCommand& command = parsed.telemetry;
    CLI::App* const sub =
        app.add_subcommand("telemetry", "Sample a fabric's counters, and keep a history of them");
    add_sampling(*sub, command);
    return {sub, [&command] { return cmd_telemetry(command); }};
}

Command add_serve(CLI::App& app, Parsed& parsed) {
    TelemetryCommand& command = parsed.serve;
    command.serve = true;
    CLI::App* const sub = app.add_subcommand(
        "serve", "Sample a fabric and serve it over HTTP: a web page, metrics, JSON, UFM's REST");
    add_sampling(*sub, command);
    sub->add_option("--port", command.port, "the port (default: 8080; 0: any that is free)")
        ->type_name("PORT")
        ->check(whole_number(0, 65535));
    sub->add_option("--address", command.address,
                    "where to listen (default: 127.0.0.1); others need --cert and --key")
        ->type_name("ADDR");
    sub->add_option("--cert", command.cert, "certificate for TLS (PEM)")->type_name("FILE");
    sub->add_option("--key", command.key, "its key")->type_name("FILE");
    sub->add_option("--name", command.names, "a host name that clients may use for this server")
        ->type_name("NAME")
        ->check(check_host_name);
    sub->add_flag("--allow-control", command.allow_control,
                  "let clients that have the token change the fabric");
    only(sub->add_option("--exporter", command.exporter,
                         "names of metrics: by node, by cable, or both (default: node)"),
         "node|cable|both");
    only(sub->add_option("--counters", command.counters,
                         "of which ports metrics tell which counters (default: all in a fabric of "
                         "few ports, else brief)"),
         "brief|traffic|all");
    return {sub, [&command] { return cmd_telemetry(command); }};
}

Command add_health(CLI::App& app, Parsed& parsed) {
    HealthOptions& health = parsed.health;
    CLI::App* const sub =
        app.add_subcommand("health", "Check links, speeds, errors, LIDs, and the topology");
    add_fabric_choice(*sub, health.fabric);
    sub->add_option("--compare", health.compare,
                    "compare with a topology that ibnetdiscover or softib topo wrote")
        ->type_name("FILE");
    sub->add_option("--umad", health.umad,
                    "read the subnet of an HCA by MADs, as DEVICE or DEVICE:PORT, instead of a "
                    "fabric of softib")
        ->type_name("DEVICE");
    add_json(*sub, health.json);
    return {sub, [&health] { return cmd_health(health); }};
}

}  // namespace

std::span<const Subcommand> telemetry_subcommands() {
    static constexpr Subcommand kAll[]{
        {"telemetry", add_telemetry}, {"serve", add_serve}, {"health", add_health}};
    return kAll;
}

}  // namespace softib::app
