// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/sharp.h"

#include <fmt/format.h>

#include "app/cli/json_text.h"
#include "app/cli/sim/run.h"
#include "app/fabric/term.h"
#include "net/sharp/sharp_simulation.h"
#include "net/sim/simulation.h"
#include "view/json.h"

namespace softib::app::sim {

namespace {

struct SharpReport {
    std::string title;
    std::uint64_t bytes = 0;
    net::SharpOutcome outcome;

    double us() const { return static_cast<double>(outcome.took_ps) * 1e-6; }
    double gbps() const { return static_cast<double>(bytes) * 8 / us() * 1e-3; }
    double link_gbps() const { return static_cast<double>(outcome.link_bytes_per_s) * 8e-9; }
    /// Returns the bytes that each host would send in a ring all-reduce.
    double ring_bytes() const {
        const double members = outcome.members;
        return 2 * (members - 1) / members * static_cast<double>(bytes);
    }
    double ring_us() const {
        return ring_bytes() / static_cast<double>(outcome.link_bytes_per_s) * 1e6;
    }
};

std::string sharp_text(const SharpReport& report) {
    const net::SharpOutcome& out = report.outcome;
    Table table({"SHARP all-reduce", ""});
    table.row({"members", std::to_string(out.members)});
    table.row({"bytes", std::to_string(report.bytes)});
    table.row({"tree", fmt::format("{} of {}", counted(out.switches, "switch"),
                                   counted(out.depth, "level"))});
    table.row({"packets", out.streamed ? "streaming (SAT)" : "datagrams (LLT)"});
    table.row({"time", fmt::format("{:.3f} us", report.us())});
    table.row({"rate", fmt::format("{:.1f} Gb/s of {:.1f}", report.gbps(), report.link_gbps())});
    table.row({"a host sends", fmt::format("{} bytes", out.host_sent_bytes)});
    table.row({"a host receives", fmt::format("{} bytes", out.host_received_bytes)});
    table.row({"a ring's host sends", fmt::format("{:.0f} bytes", report.ring_bytes())});
    table.row({"a ring's time, at least", fmt::format("{:.3f} us", report.ring_us())});
    table.row({"wrong elements", std::to_string(out.wrong_elements)});
    return fmt::format("{}\n{}", report.title, table.text());
}

std::string sharp_json(const SharpReport& report) {
    const net::SharpOutcome& out = report.outcome;
    return json_text(view::Json{{"title", report.title},
                                {"members", out.members},
                                {"bytes", report.bytes},
                                {"levels", out.depth},
                                {"switches", out.switches},
                                {"streaming", out.streamed},
                                {"time_us", report.us()},
                                {"gbps", report.gbps()},
                                {"link_gbps", report.link_gbps()},
                                {"host_sent_bytes", out.host_sent_bytes},
                                {"host_received_bytes", out.host_received_bytes},
                                {"ring_sent_bytes", report.ring_bytes()},
                                {"ring_us_min", report.ring_us()},
                                {"wrong_elements", out.wrong_elements},
                                {"events", out.events},
                                {"log_hash", fmt::format("{:016x}", out.log_hash)}});
}

}  // namespace

std::expected<std::string, std::string> simulate_sharp_traffic(const spec::Scenario& scenario,
                                                               const spec::Experiment& experiment,
                                                               bool json) {
    if (scenario.model == net::ModelKind::kFlow || experiment.options.roce) {
        return std::unexpected(
            fmt::format("{} needs packets on InfiniBand: leave --model flow and --link-layer "
                        "ethernet out",
                        kSharpTraffic));
    }
    auto routes = net::route_at_start(experiment.fabric, experiment.options);
    if (!routes) {
        return std::unexpected(routes.error().message);
    }
    SharpReport report{.title = title_of(scenario, experiment.fabric),
                       .bytes = scenario.traffics.front().traffic.bytes,
                       .outcome = {}};
    net::PlantConfig plant = experiment.options.plant;
    plant.data_vls = routes->data_vls;
    const auto outcome =
        net::simulate_sharp(std::move(routes->routed), plant, {.bytes = report.bytes});
    if (!outcome) {
        return std::unexpected(outcome.error());
    }
    report.outcome = *outcome;
    return json ? sharp_json(report) : sharp_text(report);
}

}  // namespace softib::app::sim
