// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "telemetry/arena_source.h"
#include "view/json.h"
#include "view/names.h"
#include "view/status.h"

namespace softib::app {

namespace {

constexpr std::size_t kHostsShown = 32;

void print_hosts(const view::Status& status, bool all) {
    Table table({"HOST", "DEVICE", "LID", "STATE", "RATE", "PORT GUID", "CABLE"});
    const std::size_t hosts = status.hosts.size();
    const std::size_t shown = all ? hosts : std::min(hosts, kHostsShown);
    for (std::size_t h = 0; h < shown; ++h) {
        const view::Host& host = status.hosts[h];
        for (const view::Hca& hca : host.hcas) {
            table.row({&hca == &host.hcas.front() ? host.name : "", hca.name,
                       std::to_string(hca.lid.value),
                       painted(view::to_string(hca.state),
                               hca.state == PortState::kActive ? Colour::kGreen : Colour::kRed),
                       fmt::format("{} Gb/s (4X {})", hca.speed.gbps, hca.speed.name),
                       softib::to_string(hca.port_guid), hca.cable});
        }
    }
    fmt::print("{}", table.text());
    if (shown < hosts) {
        fmt::print("… and {} (softib status -v shows all)\n", counted(hosts - shown, "more host"));
    }
}

std::string memory_text(const view::Holdings& held) {
    std::string text;
    for (const view::MemoryTier& tier : held.memory) {
        if (tier.regions != 0) {
            text += fmt::format("{}{}: {} in {}", text.empty() ? "" : ", ", tier.name,
                                human_bytes(tier.bytes), counted(tier.regions, "region"));
        }
    }
    return text.empty() ? "-" : text;
}

void print_programs(const view::Status& status, bool verbose) {
    if (status.programs.empty()) {
        fmt::print("\nno program is attached\n");
        return;
    }
    std::vector<std::string> header{"PID", "PROGRAM", "HOST"};
    if (verbose) {
        header.insert(header.end(), {"QPS", "CQS", "SRQS", "MRS", "MEMORY BY TIER"});
    }
    Table table(std::move(header));
    for (const auto& [program, held] : status.programs) {
        std::vector<std::string> row{std::to_string(program.pid), program.command, program.host};
        if (verbose) {
            row.insert(row.end(),
                       {std::to_string(held.qps), std::to_string(held.cqs),
                        std::to_string(held.srqs), std::to_string(held.mrs), memory_text(held)});
        }
        table.row(std::move(row));
    }
    fmt::print("\n{}", table.text());
}

std::size_t hca_count(const view::Status& status) {
    std::size_t count = 0;
    for (const view::Host& host : status.hosts) {
        count += host.hcas.size();
    }
    return count;
}

}  // namespace

int cmd_status(const StatusOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    view::Status status =
        view::read_status(observer->arena(), observer->daemon(), observer->fabric().dir);
    status.checks = telemetry::check_now(observer->arena());
    if (options.json) {
        if (const int error =
                view::read_counters(observer->arena(), observer->daemon(), options.verbose, status);
            error != 0) {
            return fail(fmt::format("softibd does not bring the counters up to date: {}",
                                    std::strerror(error)));
        }
        fmt::print("{}", json_text(to_json(status)));
        return 0;
    }
    fmt::print("fabric {} is {}: {}, {}, {} (softibd {}, {})\n",
               painted(status.name, Colour::kBold), painted("up", Colour::kGreen),
               counted(status.hosts.size(), "host"), counted(hca_count(status), "HCA"),
               counted(status.switches.size(), "switch"), status.daemon_pid, status.dir);
    fmt::print("health: {}\n\n", painted(view::health_text(status),
                                         view::is_well(status) ? Colour::kGreen : Colour::kRed));
    print_hosts(status, options.verbose);
    print_programs(status, options.verbose);
    return 0;
}

}  // namespace softib::app
