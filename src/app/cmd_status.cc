// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstring>

#include "app/commands.h"
#include "app/health.h"
#include "app/json_text.h"
#include "app/observe.h"
#include "app/term.h"
#include "core/counters/port_counters.h"
#include "core/topo/fabric.h"
#include "runtime/shm/counters.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kHostsShown = 32;
constexpr std::array<std::pair<live::Tier, const char*>, 5> kTiers{{
    {live::Tier::kShared, "shared"},
    {live::Tier::kMapped, "mapped"},
    {live::Tier::kCopy, "copy"},
    {live::Tier::kHelper, "helper"},
    {live::Tier::kGpu, "gpu"},
}};

topo::LinkSpeed speed_of(const live::HcaRecord& hca) {
    return topo::link_speed(static_cast<topo::Generation>(hca.generation));
}

std::string cable_of(const live::Arena& arena, const live::HcaRecord& hca) {
    if (hca.peer_switch >= arena.header->switches) {
        return "-";
    }
    return fmt::format("{}:{}", arena.switches[hca.peer_switch].name, hca.peer_port);
}

Json counters_json(const live::PortTotals& totals) {
    const counters::PortCounts counts = live::read_totals(totals);
    Json out = Json::object();
    for (const auto& row : counters::kPortCounters) {
        out[std::string(row.name)] = value_of(row, counts);
    }
    return out;
}

Json hca_json(const live::Arena& arena, const live::HcaRecord& hca) {
    return {{"name", hca.name},
            {"lid", hca.lid.load()},
            {"state", to_string(hca.state.load())},
            {"rate_gbps", speed_of(hca).gbps},
            {"generation", speed_of(hca).name},
            {"node_guid", softib::to_string(Guid{hca.node_guid})},
            {"port_guid", softib::to_string(Guid{hca.port_guid})},
            {"cable", cable_of(arena, hca)},
            {"counters", counters_json(hca.totals)}};
}

Json hosts_json(const live::Arena& arena) {
    Json hosts = Json::array();
    for (std::uint32_t h = 0; h < arena.header->hosts; ++h) {
        const live::HostRecord& host = arena.hosts[h];
        Json hcas = Json::array();
        for (std::uint32_t i = 0; i < host.hca_count; ++i) {
            hcas.push_back(hca_json(arena, arena.hcas[host.hca_first + i]));
        }
        hosts.push_back({{"name", host.name}, {"hcas", std::move(hcas)}});
    }
    return hosts;
}

/// By port number, of the ports that have a cable.
Json port_counters_json(const live::Arena& arena, const live::SwitchRecord& sw) {
    Json ports = Json::object();
    for (std::uint16_t port = 1; port < sw.port_count; ++port) {
        const live::SwitchPortRecord& record = arena.switch_ports[sw.port_first + port];
        if (record.peer_port != 0) {
            ports[std::to_string(port)] = counters_json(record.totals);
        }
    }
    return ports;
}

Json switches_json(const live::Arena& arena, bool verbose) {
    Json switches = Json::array();
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const live::SwitchRecord& sw = arena.switches[i];
        switches.push_back({{"name", sw.name},
                            {"lid", sw.lid.load()},
                            {"ports", sw.port_count - 1},
                            {"node_guid", softib::to_string(Guid{sw.node_guid})}});
        if (verbose) {
            switches.back()["port_counters"] = port_counters_json(arena, sw);
        }
    }
    return switches;
}

Json program_json(const live::Arena& arena, const Program& program) {
    const Holdings held = holdings(arena, program.owner);
    const live::ProcSlot& slot = arena.proc(program.owner);
    Json memory = Json::object();
    for (const auto& [tier, name] : kTiers) {
        const auto index = static_cast<std::size_t>(tier);
        memory[name] = {{"regions", slot.regions_by_tier[index].load()},
                        {"bytes", slot.bytes_by_tier[index].load()}};
    }
    return {{"pid", program.pid},
            {"command", program.command},
            {"host", program.host},
            {"slot", program.owner},
            {"qps", held.qps},
            {"cqs", held.cqs},
            {"srqs", held.srqs},
            {"mrs", held.mrs},
            {"memory", std::move(memory)}};
}

Json health_json(const Observer& observer) {
    const std::vector<HelperHealth> helpers = read_health(observer);
    Json list = Json::array();
    for (const HelperHealth& helper : helpers) {
        list.push_back({{"name", helper.name},
                        {"pid", helper.pid},
                        {"restarts", helper.restarts},
                        {"last_end", helper.last_end},
                        {"reason", helper.reason}});
    }
    return {{"ok", all_run(helpers)}, {"text", health_text(helpers)}, {"helpers", std::move(list)}};
}

void print_health(const Observer& observer) {
    const std::vector<HelperHealth> helpers = read_health(observer);
    fmt::print("health: {}\n\n",
               painted(health_text(helpers), all_run(helpers) ? Colour::kGreen : Colour::kRed));
}

int print_json(const Observer& observer, bool verbose) {
    const live::Arena& arena = observer.arena();
    live::Message settle;
    settle.request = live::Request::kSettle;
    if (const int error = observer.ask(settle); error != 0) {
        return fail(fmt::format("softibd does not bring the counters up to date: {}",
                                std::strerror(error)));
    }
    Json attached = Json::array();
    for (const Program& program : programs(arena)) {
        attached.push_back(program_json(arena, program));
    }
    const Json out{{"name", observer.fabric().name},
                   {"dir", observer.fabric().dir},
                   {"pid", arena.header->daemon_pid},
                   {"health", health_json(observer)},
                   {"lid_max", arena.header->lid_max},
                   {"hosts", hosts_json(arena)},
                   {"switches", switches_json(arena, verbose)},
                   {"programs", std::move(attached)}};
    fmt::print("{}", json_text(out));
    return 0;
}

void print_hosts(const live::Arena& arena, bool all) {
    Table table({"HOST", "DEVICE", "LID", "STATE", "RATE", "PORT GUID", "CABLE"});
    const std::uint32_t hosts = arena.header->hosts;
    const std::uint32_t shown = all ? hosts : std::min(hosts, kHostsShown);
    for (std::uint32_t h = 0; h < shown; ++h) {
        const live::HostRecord& host = arena.hosts[h];
        for (std::uint32_t i = 0; i < host.hca_count; ++i) {
            const live::HcaRecord& hca = arena.hcas[host.hca_first + i];
            const PortState state = hca.state.load();
            table.row({i == 0 ? host.name : "", hca.name, std::to_string(hca.lid.load()),
                       painted(to_string(state),
                               state == PortState::kActive ? Colour::kGreen : Colour::kRed),
                       fmt::format("{} Gb/s (4X {})", speed_of(hca).gbps, speed_of(hca).name),
                       softib::to_string(Guid{hca.port_guid}), cable_of(arena, hca)});
        }
    }
    fmt::print("{}", table.text());
    if (shown < hosts) {
        fmt::print("… and {} (softib status -v shows all)\n", counted(hosts - shown, "more host"));
    }
}

std::string memory_text(const live::ProcSlot& slot) {
    std::string text;
    for (const auto& [tier, name] : kTiers) {
        const auto index = static_cast<std::size_t>(tier);
        const std::uint32_t regions = slot.regions_by_tier[index].load();
        if (regions != 0) {
            text += fmt::format("{}{}: {} in {}", text.empty() ? "" : ", ", name,
                                human_bytes(slot.bytes_by_tier[index].load()),
                                counted(regions, "region"));
        }
    }
    return text.empty() ? "-" : text;
}

void print_programs(const live::Arena& arena, bool verbose) {
    const std::vector<Program> attached = programs(arena);
    if (attached.empty()) {
        fmt::print("\nno program is attached\n");
        return;
    }
    std::vector<std::string> header{"PID", "PROGRAM", "HOST"};
    if (verbose) {
        header.insert(header.end(), {"QPS", "CQS", "SRQS", "MRS", "MEMORY BY TIER"});
    }
    Table table(std::move(header));
    for (const Program& program : attached) {
        std::vector<std::string> row{std::to_string(program.pid), program.command, program.host};
        if (verbose) {
            const Holdings held = holdings(arena, program.owner);
            row.insert(row.end(), {std::to_string(held.qps), std::to_string(held.cqs),
                                   std::to_string(held.srqs), std::to_string(held.mrs),
                                   memory_text(arena.proc(program.owner))});
        }
        table.row(std::move(row));
    }
    fmt::print("\n{}", table.text());
}

}  // namespace

int cmd_status(const StatusOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (options.json) {
        return print_json(*observer, options.verbose);
    }
    const live::Arena& arena = observer->arena();
    const live::ArenaHeader& header = *arena.header;
    fmt::print("fabric {} is {}: {}, {}, {} (softibd {}, {})\n",
               painted(observer->fabric().name, Colour::kBold), painted("up", Colour::kGreen),
               counted(header.hosts, "host"), counted(header.hcas, "HCA"),
               counted(header.switches, "switch"), header.daemon_pid, observer->fabric().dir);
    print_health(*observer);
    print_hosts(arena, options.verbose);
    print_programs(arena, options.verbose);
    return 0;
}

}  // namespace softib::app
