// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/child_program.h"
#include "app/fabric/observe.h"
#include "app/fabric/telemetry_program.h"
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

/// Prints checks. Returns the exit status.
int tell(const std::vector<telemetry::Check>& checks, bool as_json) {
    if (as_json) {
        fmt::print("{}", json_text(view::to_json(checks)));
    } else {
        print(checks);
    }
    return telemetry::worst(checks) == telemetry::Severity::kInfo ? 0 : 1;
}

std::expected<telemetry::Inventory, std::string> saved_topology(const std::string& file) {
    spec::Description description;
    description.from = file;
    if (auto loaded = spec::load_netlist(description); !loaded) {
        return std::unexpected(loaded.error());
    }
    const auto graph = spec::generate(description);
    return graph ? std::expected<telemetry::Inventory, std::string>(telemetry::from_graph(*graph))
                 : std::unexpected(graph.error());
}

telemetry::Severity parse_severity(const std::string& text) {
    using enum telemetry::Severity;
    for (const telemetry::Severity each : {kWarning, kMinor, kCritical}) {
        if (text == to_string(each)) {
            return each;
        }
    }
    return kInfo;
}

/// Has softib-telemetry read a subnet by MADs, for which it has the libraries.
int tell_of_subnet(const HealthOptions& options) {
    if (options.fabric) {
        return misuse("--fabric changes nothing beside --umad: leave out one of both");
    }
    if (auto there = check_telemetry(true); !there) {
        return fail(there.error());
    }
    std::vector<std::string> words{telemetry_program(), "--check", "--umad", *options.umad};
    if (!options.compare.empty()) {
        words.insert(words.end(), {"--compare", options.compare});
    }
    const auto said = output_of(words);
    if (!said) {
        return fail(said.error());
    }
    if (said->status != 0) {
        return said->status;  // It has said why.
    }
    const auto json = nlohmann::json::parse(said->text, nullptr, false);
    std::vector<telemetry::Check> checks;
    for (const auto& each : json.value("checks", nlohmann::json::array())) {
        checks.push_back({each.value("name", ""), parse_severity(each.value("severity", "")),
                          each.value("text", ""),
                          each.value("objects", std::vector<std::string>{})});
    }
    return tell(checks, options.json);
}

}  // namespace

int cmd_health(const HealthOptions& options) {
    if (options.umad) {
        return tell_of_subnet(options);
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    telemetry::Collector collector(std::make_unique<telemetry::ArenaSource>(observer->fabric().dir),
                                   telemetry::built_in_rules());
    std::optional<telemetry::Inventory> expected;
    if (!options.compare.empty()) {
        auto read = saved_topology(options.compare);
        if (!read) {
            return fail(read.error());
        }
        expected = *std::move(read);
        collector.expect(*expected);
    }
    collector.step();
    poll(nullptr, 0, kBetweenReadingsMs);  // Rates need two readings.
    const auto snapshot = collector.step();
    auto checks = telemetry::check_health(*snapshot, collector.alarms());
    if (expected) {
        checks.push_back(telemetry::check_topology(*expected, *snapshot->inventory));
    }
    return tell(checks, options.json);
}

}  // namespace softib::app
