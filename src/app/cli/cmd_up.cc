// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/launch.h"
#include "app/fabric/manager_program.h"
#include "app/fabric/observe.h"
#include "app/fabric/telemetry_program.h"
#include "app/fabric/term.h"
#include "core/topo/spec.h"
#include "spec/live.h"

namespace softib::app {

namespace {

/// Returns the description of the fabric to start. A fabric whose daemon died is restarted as it
/// was, unless the user describes it anew.
std::expected<spec::Description, std::string> choose(const UpOptions& options,
                                                     const FabricRef& fabric) {
    const std::string leftover = fabric.dir + "/" + kDescriptionName;
    if (!options.flags.empty() || access(leftover.c_str(), R_OK) != 0) {
        return describe(options.flags);
    }
    note(fmt::format("restarting fabric '{}' as it was; to start it anew: softib down {}",
                     fabric.name, fabric.name));
    spec::Description description;
    if (auto loaded = spec::load_description(leftover, description); !loaded) {
        return std::unexpected(loaded.error());
    }
    description.origins.clear();  // Nobody gave these keys now.
    return description;
}

std::expected<void, std::string> check_not_up(const FabricRef& fabric) {
    const FabricTrouble known = look_at_daemon(fabric);
    if (known.state == FabricState::kNone || known.state == FabricState::kDead) {
        return {};
    }
    const auto observer = Observer::look(fabric);
    return std::unexpected(
        observer ? fmt::format("fabric '{}' is already up (softibd has pid {}); end it with: "
                               "softib down {}",
                               fabric.name, observer->arena().header->daemon_pid, fabric.name)
                 : observer.error().sentence());
}

void report(const FabricRef& fabric, const topo::Fabric& graph,
            const spec::Description& description, pid_t pid, bool json) {
    const topo::Spec& spec = description.spec;
    const std::size_t hcas = graph.count(topo::NodeKind::kHca);
    const std::size_t switches = graph.count(topo::NodeKind::kSwitch);
    if (json) {
        nlohmann::ordered_json out{{"name", fabric.name},
                                   {"dir", fabric.dir},
                                   {"pid", pid},
                                   {"topology", topo::to_string(spec.shape)},
                                   {"generation", topo::link_speed(spec.generation).name},
                                   {"hosts", graph.hosts.size()},
                                   {"hcas", hcas},
                                   {"switches", switches}};
        if (!description.from.empty()) {
            out["topology"] = out["generation"] = nullptr;
            out["from"] = description.from;
        }
        fmt::print("{}", json_text(out));
        return;
    }
    const std::string how = description.from.empty()
                                ? fmt::format("{}, {}", topo::to_string(spec.shape),
                                              topo::link_speed(spec.generation).name)
                                : fmt::format("from {}", description.from);
    const std::string name_flag =
        fabric.name == "default" ? "" : fmt::format("-f {} ", fabric.name);
    fmt::print("fabric {} is {}: {}, {}, {} ({})\n", painted(fabric.name, Colour::kBold),
               painted("up", Colour::kGreen), counted(graph.hosts.size(), "host"),
               counted(hcas, "HCA"), counted(switches, "switch"), how);
    fmt::print("run a program on a host with: softib exec {}{} -- ibv_devinfo\n", name_flag,
               graph.hosts.front().name);
}

/// Waits until OpenSM manages the fabric, if it is the chosen manager. If it fails, the fabric is
/// ended again.
std::expected<void, std::string> bring_up(const FabricRef& fabric,
                                          const spec::Description& description) {
    if (description.manager != "opensm") {
        return {};
    }
    auto managed = wait_until_managed(fabric);
    if (!managed && !stop_daemon(fabric)) {
        static_cast<void>(kill_daemon(fabric));
    }
    return managed;
}

}  // namespace

std::expected<spec::Description, std::string> describe(const FabricFlags& flags,
                                                       spec::Description description) {
    if (!flags.config.empty()) {
        if (auto loaded = spec::load_description(flags.config, description); !loaded) {
            return std::unexpected(loaded.error());
        }
    }
    for (const auto& [key, value] : flags.keys) {
        if (auto applied = spec::apply_flag(key, value, description); !applied) {
            return std::unexpected(applied.error());
        }
    }
    // Files that the description's file named were read together with it.
    const auto by_flag = [&](const char* key) {
        const auto origin = description.origins.find(key);
        return origin != description.origins.end() && origin->second == spec::flag_name(key);
    };
    if (by_flag("from")) {
        if (auto loaded = spec::load_netlist(description); !loaded) {
            return std::unexpected(loaded.error());
        }
    }
    if (by_flag("partitions")) {
        if (auto loaded = spec::load_partitions(description); !loaded) {
            return std::unexpected(loaded.error());
        }
    }
    if (by_flag("lid_file")) {
        description.lid_file = std::filesystem::absolute(description.lid_file);
    }
    if (by_flag("trunk_key")) {
        description.trunk_key = std::filesystem::absolute(description.trunk_key);
    }
    return description;
}

int fail_describing(const std::string& message) {
    return message.starts_with("--") ? misuse(message) : fail(message);
}

void note_warnings(const topo::Fabric& graph) {
    for (const std::string& warning : graph.warnings) {
        note(fmt::format("warning: {}", warning));
    }
}

std::expected<topo::Fabric, std::string> generate_to_run(const spec::Description& description) {
    if (description.spec.subnets > 1) {
        return std::unexpected(
            "--subnets: a running fabric is one subnet; several run in virtual time, with softib "
            "sim");
    }
    auto graph = spec::generate(description);
    if (graph) {
        note_warnings(*graph);
        if (auto checked = spec::check_live(description); !checked) {
            return std::unexpected(checked.error());
        }
    }
    if (graph && graph->hosts.empty()) {
        return std::unexpected(fmt::format(
            "{} has no HCA, so no program could run on it; draw it with: softib topo --from {}",
            description.from, description.from));
    }
    return graph;
}

int cmd_up(const UpOptions& options) {
    if (options.foreground && options.json) {
        return misuse("--foreground logs to the terminal, and prints no JSON: leave out --json");
    }
    std::optional<std::string> name = options.name;
    if (!name && !options.flags.config.empty()) {
        const auto described = describe(options.flags);
        if (!described) {
            return fail_describing(described.error());
        }
        if (described->origins.contains("name")) {
            name = described->spec.name;
        }
    }
    const auto fabric = resolve_fabric(name);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto base_lock = lock_base_dir();
    if (!base_lock) {
        return fail(base_lock.error());
    }
    if (auto free = check_not_up(*fabric); !free) {
        return fail(free.error());
    }
    auto description = choose(options, *fabric);
    if (!description) {
        return fail_describing(description.error());
    }
    description->spec.name = fabric->name;
    if (auto checked = check_manager(*description); !checked) {
        return fail_describing(checked.error());
    }
    if (auto checked = check_telemetry(description->telemetry); !checked) {
        return fail(checked.error());
    }
    const auto graph = generate_to_run(*description);
    if (!graph) {
        return fail_describing(graph.error());
    }
    remove_leftovers(*fabric);
    if (auto prepared = prepare_fabric(*fabric, *description); !prepared) {
        return fail(prepared.error());
    }
    if (options.foreground) {
        return fail(exec_daemon_in_foreground(*fabric));
    }
    const auto pid = start_daemon(*fabric, -1);
    if (!pid) {
        return fail(pid.error());
    }
    if (auto managed = bring_up(*fabric, *description); !managed) {
        return fail(managed.error());
    }
    report(*fabric, *graph, *description, *pid, options.json);
    return 0;
}

}  // namespace softib::app
