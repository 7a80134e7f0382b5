// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "spec/description.h"
#include "telemetry/arena_source.h"
#include "telemetry/collector.h"
#include "telemetry/health.h"
#include "view/json.h"

namespace softib::app {

namespace {

constexpr int kBetweenReadingsMs = 500;
constexpr std::size_t kObjectsShown = 5;

Colour colour_of(telemetry::Severity severity) {
    return severity == telemetry::Severity::kInfo       ? Colour::kGreen
           : severity == telemetry::Severity::kCritical ? Colour::kRed
                                                        : Colour::kYellow;
}

void print(const std::vector<telemetry::Check>& checks) {
    Table table({"CHECK", "VERDICT", "FINDING"});
    for (const telemetry::Check& check : checks) {
        table.row(
            {check.name,
             painted(check.ok() ? "ok" : to_string(check.severity), colour_of(check.severity)),
             check.text});
        for (std::size_t i = 0; i < std::min(check.objects.size(), kObjectsShown); ++i) {
            table.row({"", "", "  " + check.objects[i]});
        }
        if (check.objects.size() > kObjectsShown) {
            table.row({"", "",
                       fmt::format("  … and {} more (--json shows all)",
                                   check.objects.size() - kObjectsShown)});
        }
    }
    fmt::print("{}", table.text());
}

}  // namespace

int cmd_health(const HealthOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    telemetry::Collector collector(std::make_unique<telemetry::ArenaSource>(observer->fabric().dir),
                                   telemetry::built_in_rules());
    collector.step();
    poll(nullptr, 0, kBetweenReadingsMs);  // Rates need two readings.
    const auto snapshot = collector.step();
    auto checks = telemetry::check_health(*snapshot, collector.alarms());
    if (!options.compare.empty()) {
        spec::Description description;
        description.from = options.compare;
        if (auto loaded = spec::load_netlist(description); !loaded) {
            return fail(loaded.error());
        }
        const auto graph = spec::generate(description);
        if (!graph) {
            return fail(graph.error());
        }
        checks.push_back(
            telemetry::check_topology(telemetry::from_graph(*graph), *snapshot->inventory));
    }
    if (options.json) {
        fmt::print("{}", json_text(view::to_json(checks)));
    } else {
        print(checks);
    }
    return telemetry::worst(checks) == telemetry::Severity::kInfo ? 0 : 1;
}

}  // namespace softib::app
