// SPDX-License-Identifier: BSD-2-Clause
#include "view/status.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/shm/counters.h"
#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

Hca hca_of(const shm::Arena& arena, const shm::HcaRecord& hca) {
    const bool cabled = hca.peer_switch < arena.header->switches;
    return {.name = hca.name,
            .lid = Lid{hca.lid.load()},
            .state = hca.state.load(),
            .speed = topo::link_speed(static_cast<topo::Generation>(hca.generation)),
            .node_guid = Guid{hca.node_guid},
            .port_guid = Guid{hca.port_guid},
            .cable = cabled
                         ? fmt::format("{}:{}", arena.switches[hca.peer_switch].name, hca.peer_port)
                         : "-",
            .counts = std::nullopt};
}

}  // namespace

Status read_status(const shm::Arena& arena, int daemon, std::string dir) {
    const shm::ArenaHeader& header = *arena.header;
    Status status{.name = header.fabric_name,
                  .dir = std::move(dir),
                  .daemon_pid = header.daemon_pid,
                  .lid_max = header.lid_max,
                  .helpers = read_health(daemon),
                  .checks = {},
                  .hosts = {},
                  .switches = {},
                  .programs = {}};
    for (std::uint32_t h = 0; h < header.hosts; ++h) {
        const shm::HostRecord& record = arena.hosts[h];
        Host& host = status.hosts.emplace_back(Host{.name = record.name, .hcas = {}});
        for (std::uint32_t i = 0; i < record.hca_count; ++i) {
            host.hcas.push_back(hca_of(arena, arena.hcas[record.hca_first + i]));
        }
    }
    for (std::uint32_t i = 0; i < header.switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        status.switches.push_back({.name = sw.name,
                                   .lid = Lid{sw.lid.load()},
                                   .ports = sw.port_count - 1U,
                                   .node_guid = Guid{sw.node_guid},
                                   .port_counts = {}});
    }
    for (Program& program : programs(arena)) {
        const shm::Owner owner = program.owner;
        status.programs.push_back({.program = std::move(program), .held = holdings(arena, owner)});
    }
    return status;
}

std::string health_text(const Status& status) {
    std::string text = helpers_text(status.helpers);
    std::string wrong;
    for (const Check& check : status.checks) {
        if (!check.ok() && check.name != "alarms") {  // Alarms tell the same of single objects.
            wrong += fmt::format("{}{}", wrong.empty() ? "" : "; ", check.text);
        }
    }
    if (wrong.empty()) {
        return text;
    }
    return fmt::format("{}{}{} (softib health tells which)", text == "ok" ? "" : text,
                       text == "ok" ? "" : "; ", wrong);
}

bool is_well(const Status& status) {
    return all_run(status.helpers) && worst(status.checks) == Severity::kInfo;
}

int read_counters(const shm::Arena& arena, int daemon, bool of_switches, Status& status) {
    if (const int error = shm::rpc_ask(daemon, shm::request::Settle{}); error != 0) {
        return error;
    }
    for (std::uint32_t h = 0; h < status.hosts.size(); ++h) {
        std::uint32_t hca = arena.hosts[h].hca_first;
        for (Hca& shown : status.hosts[h].hcas) {
            shown.counts = shm::read_totals(arena.hcas[hca++].totals);
        }
    }
    for (std::uint32_t i = 0; of_switches && i < status.switches.size(); ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        for (std::uint32_t port = 1; port < sw.port_count; ++port) {
            const shm::SwitchPortRecord& record = arena.switch_ports[sw.port_first + port];
            if (record.peer_port != 0) {
                status.switches[i].port_counts[port] = shm::read_totals(record.totals);
            }
        }
    }
    return 0;
}

}  // namespace softib::view
