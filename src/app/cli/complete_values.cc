// SPDX-License-Identifier: BSD-2-Clause
// The values that the operands of softib's commands may have: fixed names, and names of nodes and
// ports of a running fabric.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "app/cli/complete.h"
#include "app/fabric/fabric_dir.h"
#include "app/fabric/observe.h"
#include "core/routing/engine.h"
#include "core/topo/topology.h"
#include "view/names.h"

namespace softib::app::complete {

namespace {

/// Collects the values that begin with what the user has typed.
class Values {
  public:
    explicit Values(const Wanted& wanted) : wanted_(wanted) {}

    void add(std::string_view value, std::string_view meaning = "") {
        if (!value.starts_with(wanted_.prefix)) {
            return;
        }
        text_ +=
            fmt::format("{}{}{}{}\n", wanted_.before, value, meaning.empty() ? "" : "\t", meaning);
    }
    std::string text() && { return std::move(text_); }

  private:
    const Wanted& wanted_;
    std::string text_;
};

void add_choices(std::string_view choices, Values& out) {
    while (!choices.empty()) {
        const std::size_t cut = choices.find('|');
        out.add(choices.substr(0, cut));
        choices.remove_prefix(cut == std::string_view::npos ? choices.size() : cut + 1);
    }
}

std::string device_name(const shm::Arena& arena, const shm::HcaRecord& hca) {
    return fmt::format("{}/{}", arena.hosts[hca.host].name, hca.name);
}

void add_hosts(const shm::Arena& arena, Values& out) {
    for (std::uint32_t i = 0; i < arena.header->hosts; ++i) {
        out.add(arena.hosts[i].name);
    }
}

void add_switches(const shm::Arena& arena, Values& out) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        out.add(arena.switches[i].name, fmt::format("LID {}", arena.switches[i].lid.load()));
    }
}

void add_nodes(const shm::Arena& arena, Values& out) {
    add_switches(arena, out);
    add_hosts(arena, out);
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        out.add(device_name(arena, arena.hcas[i]));
    }
}

/// Returns "to NODE" for the node at the other end of a switch port; empty if there is no cable.
std::string peer_of(const shm::Arena& arena, const shm::SwitchRecord& sw, std::uint32_t port) {
    const shm::NodeRef& peer = arena.switch_ports[sw.port_first + port].peer;
    return peer.kind == shm::NodeRef::kNone ? "" : "to " + view::node_name(arena, peer);
}

/// Adds the ports that have a cable: "sw0:1", "h0:1".
void add_cables(const shm::Arena& arena, Values& out) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        for (std::uint32_t port = 1; port < sw.port_count; ++port) {
            if (const std::string peer = peer_of(arena, sw, port); !peer.empty()) {
                out.add(fmt::format("{}:{}", sw.name, port), peer);
            }
        }
    }
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        const shm::HcaRecord& hca = arena.hcas[i];
        out.add(fmt::format("{}:{}", arena.hosts[hca.host].name, hca.index_on_host + 1), hca.name);
    }
}

/// Adds the numbers of the ports with a cable of the node that the line names.
void add_ports(const shm::Arena& arena, const std::vector<std::string>& given, Values& out) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        const bool named = std::ranges::find(given, sw.name) != given.end();
        for (std::uint32_t port = 1; named && port < sw.port_count; ++port) {
            if (const std::string peer = peer_of(arena, sw, port); !peer.empty()) {
                out.add(std::to_string(port), peer);
            }
        }
    }
    for (std::uint32_t i = 0; i < arena.header->hosts; ++i) {
        const shm::HostRecord& host = arena.hosts[i];
        const bool named = std::ranges::find(given, host.name) != given.end();
        for (std::uint32_t hca = 0; named && hca < host.hca_count; ++hca) {
            out.add(std::to_string(hca + 1), arena.hcas[host.hca_first + hca].name);
        }
    }
}

void add_lids(const shm::Arena& arena, Values& out) {
    for (std::uint32_t lid = 1; lid <= arena.header->lid_max; ++lid) {
        const std::string name = view::node_name(arena, arena.lid_owner[lid]);
        if (name != "-") {
            out.add(std::to_string(lid), name);
        }
    }
}

/// Adds values that a running fabric knows. Returns false for other kinds of value.
bool add_of_fabric(const Wanted& wanted, Values& out) {
    using Add = std::function<void(const shm::Arena&)>;
    const std::map<std::string_view, Add> known{
        {"HOST", [&](const shm::Arena& arena) { add_hosts(arena, out); }},
        {"SWITCH", [&](const shm::Arena& arena) { add_switches(arena, out); }},
        {"NODE", [&](const shm::Arena& arena) { add_nodes(arena, out); }},
        {"NODE:PORT", [&](const shm::Arena& arena) { add_cables(arena, out); }},
        {"PORT", [&](const shm::Arena& arena) { add_ports(arena, wanted.given, out); }},
        {"LID", [&](const shm::Arena& arena) { add_lids(arena, out); }},
    };
    const auto add = known.find(wanted.operand);
    if (add == known.end()) {
        return false;
    }
    if (const auto observer = Observer::open(wanted.fabric)) {
        add->second(observer->arena());
    }
    return true;
}

void add_fixed(const Wanted& wanted, const Command& program, Values& out) {
    static const std::map<std::string_view, std::string_view> kChoices{
        {"WAY", "direct|packet"},
        {"WHAT", "infiniband|ethernet"},
        {"WHO", "softib|opensm|none"},
        {"MANAGER", "softib|none"},
        {"PATTERN",
         "permutation|shift|group-shift|bisection|incast|all-to-all|random|hotspot|pairs|ring"},
    };
    if (const auto choices = kChoices.find(wanted.operand); choices != kChoices.end()) {
        add_choices(choices->second, out);
    } else if (wanted.operand.find('|') != std::string::npos) {
        add_choices(wanted.operand, out);
    } else if (wanted.operand == "GEN") {
        for (const topo::GenerationRow& row : topo::kGenerationRows) {
            out.add(row.name);
        }
    } else if (wanted.operand == "SHAPE") {
        for (const topo::Topology* const topology : topo::topologies()) {
            out.add(topology->name);
        }
    } else if (wanted.operand == "ENGINE") {
        for (const routing::Engine& engine : routing::engines()) {
            out.add(engine.name, engine.purpose);
        }
    } else if (wanted.operand == "FABRIC") {
        for (const FabricRef& fabric : list_fabrics().value_or(std::vector<FabricRef>{})) {
            out.add(fabric.name);
        }
    } else if (wanted.operand == "COMMAND") {
        for (const Command& command : program.commands) {
            out.add(command.name, command.help);
        }
    }
}

}  // namespace

std::string answer(const Command& program, std::span<const std::string> words) {
    Wanted wanted = find_wanted(program, words);
    if (wanted.program_at) {
        return fmt::format(":program {}\n", *wanted.program_at);
    }
    if (wanted.operand == "FILE" || wanted.operand == "DIR") {
        return wanted.operand == "FILE" ? ":files\n" : ":directories\n";
    }
    if (const std::size_t comma = wanted.prefix.rfind(',');
        wanted.operand == "HOST" && comma != std::string::npos) {
        wanted.before += wanted.prefix.substr(0, comma + 1);
        wanted.prefix.erase(0, comma + 1);
    }
    Values values(wanted);
    if (wanted.names_of != nullptr) {
        for (const Command& command : wanted.names_of->commands) {
            values.add(command.name, command.help);
        }
    }
    for (const Option* const option : wanted.options) {
        for (const std::string& name : option->names) {
            values.add(name, option->help);
        }
    }
    if (!add_of_fabric(wanted, values)) {
        add_fixed(wanted, program, values);
    }
    return std::move(values).text() + ":values\n";
}

}  // namespace softib::app::complete
