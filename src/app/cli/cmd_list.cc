// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/fabric_dir.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "view/programs.h"

namespace softib::app {

namespace {

struct Line {
    FabricRef fabric;
    pid_t pid = 0;
    std::uint32_t hosts = 0;
    std::uint32_t hcas = 0;
    std::uint32_t switches = 0;
    std::size_t programs = 0;
    FabricTrouble trouble{};
};

Line look_at(const FabricRef& fabric) {
    Line line{.fabric = fabric};
    const auto observer = Observer::look(fabric);
    if (!observer) {
        line.trouble = observer.error();
        line.pid = daemon_pid(fabric);
        return line;
    }
    const shm::ArenaHeader& header = *observer->arena().header;
    line.pid = static_cast<pid_t>(header.daemon_pid);
    line.hosts = header.hosts;
    line.hcas = header.hcas;
    line.switches = header.switches;
    line.programs = view::programs(observer->arena()).size();
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
    std::vector<std::string> problems;
    for (const FabricRef& fabric : *fabrics) {
        const Line line = look_at(fabric);
        const bool up = line.trouble.state == FabricState::kUp;
        out.push_back({{"name", fabric.name},
                       {"dir", fabric.dir},
                       {"up", up},
                       {"state", to_string(line.trouble.state)},
                       {"problem", line.trouble.sentence()},
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
            table.row({fabric.name, painted(to_string(line.trouble.state), Colour::kRed),
                       line.pid != 0 ? std::to_string(line.pid) : "-", "-", "-", "-", "-"});
            problems.push_back(line.trouble.sentence());
        }
    }
    if (options.json) {
        fmt::print("{}", json_text(out));
    } else if (fabrics->empty()) {
        fmt::print("no fabric is up; start one with: softib up\n");
    } else {
        fmt::print("{}", table.text());
        std::fflush(stdout);
        std::ranges::for_each(problems, note);
    }
    return 0;
}

}  // namespace softib::app
