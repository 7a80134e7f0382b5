// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/fabric_dir.h"
#include "app/json_text.h"
#include "app/observe.h"
#include "app/term.h"

namespace softib::app {

namespace {

struct Line {
    FabricRef fabric;
    pid_t pid = 0;
    std::uint32_t hosts = 0;
    std::uint32_t hcas = 0;
    std::uint32_t switches = 0;
    std::size_t programs = 0;
};

Line look_at(const FabricRef& fabric) {
    Line line{.fabric = fabric};
    const auto observer = Observer::open(fabric);
    if (!observer) {
        return line;
    }
    const live::ArenaHeader& header = *observer->arena().header;
    line.pid = static_cast<pid_t>(header.daemon_pid);
    line.hosts = header.hosts;
    line.hcas = header.hcas;
    line.switches = header.switches;
    line.programs = programs(observer->arena()).size();
    return line;
}

}  // namespace

int cmd_list(const ListOptions& options) {
    const auto fabrics = list_fabrics();
    if (!fabrics) {
        return fail(fabrics.error());
    }
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    Table table({"FABRIC", "STATE", "PID", "HOSTS", "HCAS", "SWITCHES", "PROGRAMS"});
    for (const FabricRef& fabric : *fabrics) {
        const Line line = look_at(fabric);
        const bool up = line.pid != 0;
        out.push_back({{"name", fabric.name},
                       {"dir", fabric.dir},
                       {"up", up},
                       {"pid", line.pid},
                       {"hosts", line.hosts},
                       {"hcas", line.hcas},
                       {"switches", line.switches},
                       {"programs", line.programs}});
        if (up) {
            table.row({fabric.name, painted("up", Colour::kGreen), std::to_string(line.pid),
                       std::to_string(line.hosts), std::to_string(line.hcas),
                       std::to_string(line.switches), std::to_string(line.programs)});
        } else {
            table.row({fabric.name, painted("dead", Colour::kRed), "-", "-", "-", "-", "-"});
        }
    }
    if (options.json) {
        fmt::print("{}", json_text(out));
    } else if (fabrics->empty()) {
        fmt::print("no fabric is up; start one with: softib up\n");
    } else {
        fmt::print("{}", table.text());
    }
    return 0;
}

}  // namespace softib::app
