// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/topology.h"
#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/output_files.h"
#include "app/cli/text_file.h"
#include "app/fabric/fabric_dir.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "core/topo/netlist.h"
#include "core/topo/render.h"
#include "core/topo/report.h"
#include "spec/live.h"
#include "view/json.h"
#include "view/topology.h"

namespace softib::app {

namespace {

struct Drawn {
    topo::Fabric graph;
    std::uint8_t lmc;
};

std::expected<Drawn, std::string> with_lmc(std::expected<topo::Fabric, std::string> graph,
                                           const spec::Description& description) {
    if (!graph) {
        return std::unexpected(graph.error());
    }
    return Drawn{std::move(*graph), description.lmc};
}

spec::Drawing shown_by(const TopoOptions& options) {
    return {.names = !options.report,
            .guids = !options.report &&
                     (options.json || !options.ibnetdiscover.empty() || !options.ibsim.empty()),
            .lids = options.report};
}

std::expected<Drawn, std::string> load(const TopoOptions& options) {
    if (!options.flags.empty()) {
        const auto description = describe(options.flags);
        if (const auto shown =
                description ? spec::check_drawn(*description, shown_by(options)) : spec::Result();
            !shown) {
            return std::unexpected(shown.error());
        }
        return description ? with_lmc(spec::generate(*description), *description)
                           : std::unexpected(description.error());
    }
    const auto fabric = find_fabric(options.fabric);
    if (!fabric) {
        return std::unexpected(fabric.error());
    }
    const auto observer = Observer::open(*fabric);
    if (!observer) {
        return std::unexpected(observer.error());
    }
    spec::Description description;
    if (auto loaded = spec::load_description(fabric->dir + "/" + kDescriptionName, description);
        !loaded) {
        return std::unexpected(loaded.error());
    }
    description.spec.name = fabric->name;
    auto graph = spec::generate(description);
    if (graph) {
        view::take_lids(observer->arena(), *graph);
    }
    return with_lmc(std::move(graph), description);
}

/// Returns why an option would change nothing; empty if all act.
std::string idle_option(const TopoOptions& options) {
    const bool writes = !options.dot.empty() || !options.svg.empty() ||
                        !options.ibnetdiscover.empty() || !options.ibsim.empty();
    if (options.fabric && !options.flags.empty()) {
        return fmt::format(
            "--fabric is a running fabric, and {} describes one: leave out one of both",
            options.flags.keys.empty() ? "--config"
                                       : spec::flag_name(options.flags.keys.front().first));
    }
    if (options.rack_hosts != 0 && !options.report) {
        return "--rack-hosts changes nothing here: it needs --report";
    }
    if (writes && (options.json || options.report)) {
        return fmt::format(
            "{} goes to standard output alone: leave out --dot, --svg, "
            "--ibnetdiscover and --ibsim, or run softib topo twice",
            options.report ? "--report" : "--json");
    }
    return {};
}

/// Returns the files that describe the fabric.
std::vector<std::string> files_read(const FabricFlags& flags) {
    std::vector<std::string> files{flags.config};
    for (const auto& [key, value] : flags.keys) {
        if (key == "from") {
            files.push_back(value);
        }
    }
    return files;
}

/// Returns whether the terminal can show Unicode, by the locale.
bool unicode_wanted() {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr && *value != '\0') {
            const std::string_view locale(value);
            return locale.find("UTF-8") != std::string_view::npos ||
                   locale.find("utf8") != std::string_view::npos;
        }
    }
    return false;
}

}  // namespace

int cmd_topo(const TopoOptions& options) {
    if (const std::string why = idle_option(options); !why.empty()) {
        return misuse(why);
    }
    const OutputFile files[]{{"--dot", options.dot},
                             {"--svg", options.svg},
                             {"--ibnetdiscover", options.ibnetdiscover},
                             {"--ibsim", options.ibsim}};
    if (const int wrong = check_outputs(files, files_read(options.flags)); wrong != 0) {
        return wrong;
    }
    const auto drawn = load(options);
    if (!drawn) {
        return fail_describing(drawn.error());
    }
    const topo::Fabric* const fabric = &drawn->graph;
    note_warnings(*fabric);
    if (options.report) {
        const auto report =
            topo::make_report(*fabric, {.hosts_per_rack = options.rack_hosts}, drawn->lmc);
        return write_text("-", options.json ? answer::report_json(*fabric, report)
                                            : topo::render_report(*fabric, report));
    }
    if (options.json) {
        return write_text("-", json_text(to_json(view::topology_of(*fabric))));
    }
    struct Format {
        const std::string& path;
        std::string (*write)(const topo::Fabric&);
    };
    int status = 0;
    bool written = false;
    for (const Format& format :
         {Format{options.dot, topo::render_dot}, Format{options.svg, topo::render_svg},
          Format{options.ibnetdiscover, topo::write_ibnetdiscover},
          Format{options.ibsim, topo::write_ibsim}}) {
        if (!format.path.empty()) {
            status |= write_text(format.path, format.write(*fabric));
            written = true;
        }
    }
    if (!written) {
        const topo::TreeStyle style{.colour = colour_wanted(), .unicode = unicode_wanted()};
        status = write_text("-", topo::render_tree(*fabric, style));
    }
    return status;
}

}  // namespace softib::app
