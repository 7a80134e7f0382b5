// SPDX-License-Identifier: BSD-2-Clause
// Makes what the run of a scenario needs: the fabric, and the hosts, switches and cables in it that
// the scenario names.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/link/rate.h"
#include "core/topo/topology.h"
#include "spec/scenario/scenario.h"
#include "spec/text_file.h"

namespace softib::spec {

namespace {

/// Number of packets that must overtake one before it counts as lost, if switches choose the path
/// of each packet.
constexpr std::uint32_t kReorderPackets = 64;

/// Returns the bits per second of the hosts' links, which must be the same for all.
std::expected<double, std::string> end_rate(const topo::Fabric& fabric) {
    const auto rate_of = [](const topo::PortLink& link) {
        return 64 * 8 * 1e12 / static_cast<double>(link::ps_per_block(link.generation, link.width));
    };
    double rate = 0;
    for (const topo::Host& host : fabric.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            const topo::PortLink& link = fabric.node(hca).ports[1];
            if (link.peer == topo::kNoNode) {
                continue;
            }
            if (rate != 0 && rate != rate_of(link)) {
                return std::unexpected(
                    fmt::format("hosts have links of {:.0f} and of {:.0f} Gb/s, so a part of the "
                                "link is no one rate: write the rate itself, as 10Gb/s",
                                rate / 1e9, rate_of(link) / 1e9));
            }
            rate = rate_of(link);
        }
    }
    return rate;
}

Result read_pairs(const TrafficWish& wish, const plan::Ends& ends, plan::Traffic& traffic) {
    const auto text = read_file(wish.pairs_file);
    if (!text) {
        return std::unexpected(text.error());
    }
    auto pairs = plan::parse_pairs(*text, [&](std::string_view name) { return ends.find(name); });
    if (!pairs) {
        return std::unexpected(fmt::format("{}:{}", wish.pairs_file, pairs.error()));
    }
    traffic.pairs = *std::move(pairs);
    return {};
}

/// Returns the group of each end port's switch; empty if the fabric has no groups.
std::vector<std::uint32_t> list_groups(const topo::Fabric& fabric) {
    std::vector<std::uint32_t> groups;
    if (!fabric.shape || topo::topology_of(*fabric.shape).layout != topo::Layout::kGroups) {
        return groups;
    }
    for (const topo::Host& host : fabric.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            groups.push_back(fabric.node(fabric.node(hca).ports[1].peer).coordinates.front());
        }
    }
    return groups;
}

std::expected<plan::Traffic, std::string> find_hosts(const TrafficWish& wish,
                                                     const topo::Fabric& fabric,
                                                     const plan::Ends& ends) {
    plan::Traffic traffic = wish.traffic;
    if (!wish.among.empty()) {
        auto among = ends.find_list(wish.among);
        if (!among) {
            return std::unexpected(among.error());
        }
        traffic.among = *std::move(among);
    }
    if (!wish.target.empty()) {
        const auto target = ends.find(wish.target);
        if (!target) {
            return std::unexpected(target.error());
        }
        traffic.target = *target;
    }
    if (traffic.pattern == plan::Pattern::kPairs) {
        if (wish.pairs_file.empty()) {
            return std::unexpected("pairs need a file: give its name as pairs");
        }
        if (auto read = read_pairs(wish, ends, traffic); !read) {
            return std::unexpected(read.error());
        }
    }
    if (traffic.pattern == plan::Pattern::kGroupShift) {
        traffic.group_of = list_groups(fabric);
    }
    if (wish.rate_part != 0) {
        const auto rate = end_rate(fabric);
        if (!rate) {
            return std::unexpected(rate.error());
        }
        traffic.rate = wish.rate_part * *rate;
    }
    return traffic;
}

/// Returns whether something fails already: the same node, or the cable at this port, by itself or
/// with a node at one of its ends.
bool fails_already(const net::Failure& failure, const topo::Fabric& fabric,
                   const std::vector<net::Failure>& failures) {
    const net::Hop& what = failure.what;
    const topo::PortLink* const link =
        what.port == 0 ? nullptr : &fabric.nodes[what.node].ports[what.port];
    return std::ranges::any_of(failures, [&](const net::Failure& each) {
        if (link == nullptr || each.what == what) {
            return each.what == what;
        }
        return each.what == net::Hop{link->peer.value, link->peer_port.value} ||
               (each.what.port == 0 && each.at <= failure.at &&
                (each.what.node == what.node || each.what.node == link->peer.value));
    });
}

/// Draws cables that do not fail already.
Result draw_failed(const FailureWish& wish, const topo::Fabric& fabric, std::uint64_t seed,
                   std::vector<net::Failure>& failures) {
    std::vector<net::Failure> drawn;
    for (const net::Hop& cable : net::draw_cables(fabric, UINT32_MAX, seed)) {
        const net::Failure failure{cable, wish.at};
        if (drawn.size() < wish.count && !fails_already(failure, fabric, failures)) {
            drawn.push_back(failure);
        }
    }
    if (drawn.size() < wish.count) {
        return std::unexpected(fmt::format(
            "{} cables cannot fail: there are {} between switches and of routers{}", wish.count,
            drawn.size(), failures.empty() ? "" : " that do not fail already"));
    }
    std::ranges::copy(drawn, std::back_inserter(failures));
    return {};
}

Result find_failed(const FailureWish& wish, const topo::Fabric& fabric, std::uint64_t seed,
                   std::vector<net::Failure>& failures) {
    if (wish.kind == FailureWish::Kind::kRandom) {
        return draw_failed(wish, fabric, seed, failures);
    }
    if (wish.kind == FailureWish::Kind::kRouter) {
        const auto legs = plan::find_router(fabric, wish.name);
        if (!legs) {
            return std::unexpected(legs.error());
        }
        for (const net::Hop& leg : *legs) {
            failures.push_back({leg, wish.at});
        }
        return {};
    }
    const auto found = wish.kind == FailureWish::Kind::kLink ? plan::find_port(fabric, wish.name)
                                                             : plan::find_switch(fabric, wish.name);
    if (!found) {
        return std::unexpected(found.error());
    }
    const net::Failure failure{*found, wish.at};
    if (fails_already(failure, fabric, failures)) {
        return std::unexpected(fmt::format("{} fails already: leave it out", wish.name));
    }
    failures.push_back(failure);
    return {};
}

/// Finds all that fails: nodes first, because their cables fail with them, and what is drawn at
/// random last, from what is left.
Result find_all_failed(const Scenario& scenario, const topo::Fabric& fabric,
                       std::vector<net::Failure>& failures) {
    using Kind = FailureWish::Kind;
    for (const Kind kind : {Kind::kSwitch, Kind::kRouter, Kind::kLink, Kind::kRandom}) {
        for (const FailureWish& wish : scenario.failures) {
            const Result found =
                wish.kind == kind ? find_failed(wish, fabric, scenario.seed, failures) : Result{};
            if (!found) {
                return std::unexpected(fmt::format("{}: {}", wish.origin, found.error()));
            }
        }
    }
    return {};
}

/// Returns an error if traffic or a failure comes only after the run has stopped.
Result check_until(const Scenario& scenario) {
    const auto late = [&](const std::string& origin, const char* what, plan::TimePs at) {
        return std::unexpected(fmt::format("{}: {} at {}, and the run stops at {} (until)", origin,
                                           what, plan::show_time(at),
                                           plan::show_time(scenario.until)));
    };
    for (const TrafficWish& wish : scenario.traffics) {
        if (wish.traffic.start >= scenario.until) {
            return late(wish.origin, "this traffic begins", wish.traffic.start);
        }
    }
    for (const FailureWish& wish : scenario.failures) {
        if (wish.at >= scenario.until) {
            return late(wish.origin, "this failure comes", wish.at);
        }
    }
    return {};
}

Result check_pauses(const Scenario& scenario) {
    if (scenario.fabric.link_layer == hca::LinkLayer::kEthernet &&
        scenario.pfc_xon > scenario.roce.links.xoff_bytes) {
        return std::unexpected(fmt::format("pfc_xon must not be above pfc_xoff, and {} is above {}",
                                           scenario.pfc_xon, scenario.roce.links.xoff_bytes));
    }
    return {};
}

bool was_given(const Scenario& scenario, std::string_view key) {
    return std::ranges::find(scenario.given, key, &Scenario::Given::key) != scenario.given.end();
}

net::RoceOptions roce_options(const Scenario& scenario) {
    using Ecmp = net::RoceOptions::Ecmp;
    net::RoceOptions roce = scenario.roce;
    roce.links.seed = scenario.seed;
    roce.links.xon_bytes = scenario.pfc_xon != 0 ? scenario.pfc_xon : roce.links.xoff_bytes / 4 * 3;
    const bool reorders = roce.ecmp == Ecmp::kSpray || roce.ecmp == Ecmp::kLoad;
    if (reorders && !was_given(scenario, "reorder")) {
        roce.hosts.reorder_packets = kReorderPackets;
    }
    return roce;
}

}  // namespace

std::expected<Experiment, std::string> prepare(const Scenario& scenario) {
    for (const auto check : {check_pauses, check_until}) {
        if (auto checked = check(scenario); !checked) {
            return std::unexpected(checked.error());
        }
    }
    auto fabric = generate(scenario.fabric);
    if (!fabric) {
        return std::unexpected(fabric.error());
    }
    if (fabric->hosts.empty()) {
        return std::unexpected("there is no host in this fabric that could send anything");
    }
    Experiment experiment{*std::move(fabric), scenario.options, {}};
    experiment.options.engine = scenario.fabric.engine;
    experiment.options.qos = scenario.fabric.qos;
    experiment.options.hosts.seed = scenario.seed;
    if (scenario.fabric.link_layer == hca::LinkLayer::kEthernet) {
        experiment.options.roce = roce_options(scenario);
    }
    if (scenario.context_cache != 0) {
        experiment.options.hosts.context_entries =
            std::max(scenario.context_cache / scenario.context_bytes, 1U);
    }
    const plan::Ends ends(experiment.fabric);
    const auto at = [](const std::string& origin, const std::string& message) {
        return std::unexpected(fmt::format("{}: {}", origin, message));
    };
    for (std::size_t i = 0; i < scenario.traffics.size(); ++i) {
        const TrafficWish& wish = scenario.traffics[i];
        if (wish.traffic.pattern == plan::Pattern::kSharpAllReduce) {
            continue;  // Switches carry it out, without messages.
        }
        const auto traffic = find_hosts(wish, experiment.fabric, ends);
        if (!traffic) {
            return at(wish.origin, traffic.error());
        }
        auto schedule = plan::Schedule::make(*traffic, ends.count(), scenario.seed + i);
        if (!schedule) {
            return at(wish.origin, schedule.error());
        }
        experiment.options.sl_max = std::max(experiment.options.sl_max, traffic->sl);
        experiment.schedules.push_back(*std::move(schedule));
    }
    if (auto found = find_all_failed(scenario, experiment.fabric, experiment.options.failures);
        !found) {
        return std::unexpected(found.error());
    }
    return experiment;
}

}  // namespace softib::spec
