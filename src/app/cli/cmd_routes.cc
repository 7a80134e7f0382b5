// SPDX-License-Identifier: BSD-2-Clause
// softib routes: verifies the routes that switches hold, or writes them to files. That is done in
// this process, because the daemon must serve programs meanwhile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/ranks.h"
#include "app/cli/routes_dump.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "core/routing/verifier.h"
#include "view/names.h"
#include "view/routes.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

using routing::Channel;
using routing::Fault;
using routing::Report;

constexpr std::size_t kChannelsShown = 16;
constexpr std::size_t kHostsNamed = 3;

struct Checked {
    const shm::Arena& arena;
    const view::Routes& routes;
    const Report& report;

    bool good() const { return report.good() && routes.not_active == 0 && routes.without_lid == 0; }
    std::string switch_name(std::uint32_t sw) const { return arena.switches[sw].name; }
    /// Returns a switch with its hosts: "leaf0 (h0/mlx5_0, h1/mlx5_0)".
    std::string source(std::uint32_t sw) const {
        std::vector<std::string> hosts;
        for (const std::uint32_t i : routes.graph.targets(sw)) {
            const routing::Target& target = routes.graph.targets()[i];
            if (!target.is_switch()) {
                hosts.push_back(hosts.size() == kHostsNamed ? "…"
                                                            : view::node_name(arena, target.lid));
            }
            if (hosts.size() > kHostsNamed) {
                break;
            }
        }
        return hosts.empty() ? switch_name(sw)
                             : fmt::format("{} ({})", switch_name(sw), fmt::join(hosts, ", "));
    }
    std::string channel(Channel at) const {
        return fmt::format("{} port {} VL {}", switch_name(routes.graph.source(at.link)),
                           routes.graph.links()[at.link].port, at.vl);
    }
};

class ResultTable {
  public:
    void row(const std::string& what, bool good, const std::string& detail) {
        table_.row(
            {what, good ? painted("ok", Colour::kGreen) : painted("FAULT", Colour::kRed), detail});
    }
    void note(const std::string& what, const std::string& detail) {
        table_.row({what, painted("note", Colour::kYellow), detail});
    }
    std::string text() const { return table_.text(); }

  private:
    Table table_{{"CHECK", "RESULT", "DETAIL"}};
};

std::string lanes_text(const Checked& checked) {
    return fmt::format("{}{}", counted(checked.routes.tables.vls, "lane"),
                       checked.routes.sls_known ? "" : ", all paths taken to have service level 0");
}

std::string load_text(const routing::LinkLoad& load) {
    if (load.links == 0) {
        return "no links between switches";
    }
    return fmt::format(
        "balance {:.2f}: all to all, {} to {} flows a link, {:.1f} on average; {} of {} "
        "links unused",
        load.balance, load.min, load.max, load.mean, load.unused, load.links);
}

std::string contention_text(const routing::Contention& contention) {
    return fmt::format("{}: {:.2f} flows on the busiest link on average, {} at worst",
                       counted(contention.tried, "permutation"), contention.mean, contention.worst);
}

void print_faults(const Checked& checked) {
    const auto& reach = checked.report.reach;
    if (!reach.examples.empty()) {
        fmt::print("\nlost, for example:\n");
    }
    for (const Fault& fault : reach.examples) {
        fmt::print("  from {} to {} (LID {}): {}\n", checked.source(fault.sw),
                   view::node_name(checked.arena, fault.lid), fault.lid.value,
                   fault.loop ? "runs in a circle" : "no path");
    }
    const auto& cycle = checked.report.cycle;
    if (!cycle.empty()) {
        fmt::print("\ncredit loop, each waits for the next and the last for the first:\n");
    }
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        if (i == kChannelsShown) {
            fmt::print("  … and {} more\n", cycle.size() - i);
            break;
        }
        fmt::print("  {}\n", checked.channel(cycle[i]));
    }
}

void print_table(const Checked& checked) {
    const Report& report = checked.report;
    const auto& reach = report.reach;
    ResultTable table;
    table.row("ports", checked.routes.not_active == 0 && checked.routes.without_lid == 0,
              checked.routes.not_active + checked.routes.without_lid == 0
                  ? checked.routes.down == 0
                        ? "all with a cable are active and have a LID"
                        : fmt::format("{} with a cable are down (softib health tells which); all "
                                      "others are active and have a LID",
                                      checked.routes.down)
                  : fmt::format("{} with a cable not active, {} without a LID",
                                checked.routes.not_active, checked.routes.without_lid));
    table.row("paths", reach.lost == 0,
              reach.lost == 0
                  ? fmt::format("{} pairs of end ports reach each other, at most {}", reach.pairs,
                                counted(reach.hops_max, "hop"))
                  : fmt::format("{} of {} pairs of end ports lost, {} of them in circles",
                                reach.lost, reach.pairs, reach.looping));
    if (reach.apart != 0) {
        table.note("islands", fmt::format("{} pairs are not joined by cables", reach.apart));
    }
    if (report.discarded != 0) {
        table.row("lanes", false,
                  fmt::format("at {} a switch has no lane for the service level",
                              counted(report.discarded, "hop")));
    }
    table.row("credit loops", report.acyclic(),
              fmt::format("{} among {} channel dependencies on {}",
                          report.acyclic() ? "none"
                                           : fmt::format("one of {} channels", report.cycle.size()),
                          report.dependencies, lanes_text(checked)));
    if (!report.acyclic() && !checked.routes.sls_known) {
        table.note(
            "", "another manager's paths may have other service levels, which keep to other lanes");
    }
    table.note("links", load_text(report.load));
    for (const auto& [name, contention] :
         {std::pair("shifts", report.shifts), std::pair("random", report.random)}) {
        if (contention.tried != 0) {
            table.note(name, contention_text(contention));
        }
    }
    fmt::print("{}", table.text());
    print_faults(checked);
}

Json to_json(const Checked& checked) {
    const Report& report = checked.report;
    Json examples = Json::array();
    for (const Fault& fault : report.reach.examples) {
        examples.push_back({{"from", checked.switch_name(fault.sw)},
                            {"to", view::node_name(checked.arena, fault.lid)},
                            {"lid", fault.lid.value},
                            {"circle", fault.loop}});
    }
    Json cycle = Json::array();
    for (const Channel& channel : report.cycle) {
        cycle.push_back({{"switch", checked.switch_name(checked.routes.graph.source(channel.link))},
                         {"port", checked.routes.graph.links()[channel.link].port},
                         {"vl", channel.vl}});
    }
    const auto contention = [](const routing::Contention& c) {
        return c.tried == 0
                   ? Json()
                   : Json{{"tried", c.tried}, {"flows_mean", c.mean}, {"flows_worst", c.worst}};
    };
    return {{"ok", checked.good()},
            {"engine",
             checked.routes.tables.engine.empty() ? Json() : Json(checked.routes.tables.engine)},
            {"ports_down", checked.routes.down},
            {"ports_not_active", checked.routes.not_active},
            {"ports_without_lid", checked.routes.without_lid},
            {"pairs", report.reach.pairs},
            {"lost", report.reach.lost},
            {"circles", report.reach.looping},
            {"apart", report.reach.apart},
            {"examples", examples},
            {"hops_max", report.reach.hops_max},
            {"discarded", report.discarded},
            {"lanes", checked.routes.tables.vls},
            {"service_levels_known", checked.routes.sls_known},
            {"dependencies", report.dependencies},
            {"credit_loop", cycle},
            {"links", report.load.links},
            {"links_unused", report.load.unused},
            {"flows_min", report.load.min},
            {"flows_mean", report.load.mean},
            {"flows_max", report.load.max},
            {"balance", report.load.balance},
            {"shifts", contention(report.shifts)},
            {"random", contention(report.random)}};
}

int check(const Observer& observer, const view::Routes& routes, const RoutesOptions& options) {
    routing::VerifyOptions wanted = routing::kSoundness;
    wanted.switches_send = wanted.switches_receive = options.all;
    std::vector<Lid> ranks;
    if (options.permutations) {
        constexpr routing::VerifyOptions kAll;
        wanted.shifts_max = kAll.shifts_max;
        wanted.shift_samples = kAll.shift_samples;
        wanted.random_samples = kAll.random_samples;
        if (!options.ranks.empty()) {
            auto read = read_ranks(options.ranks, observer.arena(), routes);
            if (!read) {
                return fail(read.error());
            }
            ranks = std::move(*read);
        }
        wanted.ranks = ranks;
    }
    const Report report = verify(routes.graph, routes.tables, wanted);
    const Checked checked{observer.arena(), routes, report};
    if (options.json) {
        fmt::print("{}", json_text(to_json(checked)));
    } else {
        print_table(checked);
    }
    return checked.good() ? 0 : 1;
}

}  // namespace

int cmd_routes(const RoutesOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (auto subnet = check_subnet(*observer); !subnet) {
        return fail(subnet.error());
    }
    const auto routes = view::read_routes(observer->arena(), observer->daemon());
    if (!routes) {
        return fail(routes.error());
    }
    if (options.action == "check") {
        return check(*observer, *routes, options);
    }
    const auto dumped = dump_routes(observer->arena(), *routes, options.directory);
    if (!dumped) {
        return fail(dumped.error());
    }
    if (options.json) {
        fmt::print("{}", json_text({{"directory", options.directory}, {"files", *dumped}}));
    }
    return 0;
}

}  // namespace softib::app
