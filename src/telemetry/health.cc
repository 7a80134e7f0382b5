// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace softib::telemetry {

namespace {

constexpr float kCongested = 0.2F;

bool is_active(PortState state) {
    return state == PortState::kActive || state == PortState::kActiveDefer;
}

/// Returns a check of all ports: the ports that fail a test, and how many of how many they are.
template <typename Fails>
Check check_ports(const Snapshot& snapshot, std::string name, Severity severity, const char* wrong,
                  const char* right, Fails&& fails) {
    Check check{std::move(name), Severity::kInfo, right, {}};
    const auto ports = static_cast<std::uint32_t>(
        std::min(snapshot.inventory->ports.size(), snapshot.sample.states.size()));
    for (std::uint32_t i = 0; i < ports; ++i) {
        if (fails(i)) {
            check.objects.push_back(fmt::format("{} - {}", snapshot.inventory->port_name(i),
                                                snapshot.inventory->peer_name(i)));
        }
    }
    if (!check.objects.empty()) {
        check.severity = severity;
        check.text = fmt::format("{} of {} ports {}", check.objects.size(), ports, wrong);
    }
    return check;
}

Check check_lids(const Inventory& inventory) {
    Check check{"lids", Severity::kInfo, "every node has a LID of its own", {}};
    std::map<std::uint16_t, const Node*> owners;
    for (const Node& node : inventory.nodes) {
        if (node.port_count == 0) {
            continue;
        }
        const auto [owner, is_new] = owners.try_emplace(node.lid.value, &node);
        if (node.lid == kLidUnassigned) {
            check.objects.push_back(fmt::format("{} has no LID", node.name));
        } else if (!is_new) {
            check.objects.push_back(fmt::format("{} and {} both have LID {}", node.name,
                                                owner->second->name, node.lid.value));
        }
    }
    if (!check.objects.empty()) {
        check.severity = Severity::kCritical;
        check.text = "nodes have no LID, or share one";
    }
    return check;
}

/// Checks whether every node that there should be is there and answers.
Check check_nodes(const Snapshot& snapshot) {
    const Outage& outage = snapshot.outage;
    const std::size_t all = std::max(outage.nodes, snapshot.inventory->nodes.size());
    std::vector<std::string> objects = outage.lost;
    for (const std::string& name : snapshot.sample.silent) {
        if (std::ranges::find(outage.lost, name) == outage.lost.end()) {
            objects.push_back(name);
        }
    }
    if (objects.empty()) {
        return {"nodes", Severity::kInfo, fmt::format("all {} nodes answer", all), {}};
    }
    return {"nodes", outage.lost.empty() ? Severity::kMinor : Severity::kCritical,
            outage.lost.empty()
                ? fmt::format("{} of {} nodes do not answer", objects.size(), all)
                : fmt::format("{} of {} nodes {} no cable that is up", objects.size(), all,
                              objects.size() == 1 ? "has" : "have"),
            std::move(objects)};
}

Check check_cables(const Snapshot& snapshot) {
    const Outage& outage = snapshot.outage;
    if (outage.broken.empty()) {
        return {"links", Severity::kInfo, "every cable is up", {}};
    }
    return {"links", Severity::kCritical,
            fmt::format("{} of {} cables {} down", outage.broken.size(), outage.cables,
                        outage.broken.size() == 1 ? "is" : "are"),
            outage.broken};
}

Check check_alarms(const std::vector<Event>& alarms) {
    Check check{"alarms", Severity::kInfo, "no alarm is active", {}};
    for (const Event& alarm : alarms) {
        check.severity = std::max(check.severity, alarm.severity);
        const std::string_view remedy = remedy_of(alarm.kind);
        check.objects.push_back(fmt::format("{}: {}{}{}", alarm.object, alarm.text,
                                            remedy.empty() ? "" : "; to do: ", remedy));
    }
    if (!alarms.empty()) {
        check.severity = std::max(check.severity, Severity::kWarning);
        check.text =
            fmt::format("{} alarm{} active", alarms.size(), alarms.size() == 1 ? " is" : "s are");
    }
    return check;
}

}  // namespace

std::vector<Check> check_health(const Snapshot& snapshot, const std::vector<Event>& alarms) {
    const Inventory& inventory = *snapshot.inventory;
    const Sample& sample = snapshot.sample;
    std::vector<Check> checks;
    checks.push_back(snapshot.trouble.empty()
                         ? Check{"source", Severity::kInfo, "the fabric can be read", {}}
                         : Check{"source", Severity::kCritical, snapshot.trouble, {}});
    checks.push_back(check_nodes(snapshot));
    checks.push_back(check_cables(snapshot));
    checks.push_back(check_ports(snapshot, "one_way", Severity::kMinor,
                                 "are active while the other end is not",
                                 "both ends of every cable agree", [&](std::uint32_t i) {
                                     const std::uint32_t peer = inventory.ports[i].peer;
                                     return peer != kNoIndex && is_active(sample.states[i]) &&
                                            !is_active(sample.states[peer]);
                                 }));
    checks.push_back(check_ports(snapshot, "speed", Severity::kMinor, "are slower than they could",
                                 "every link has its full speed", [&](std::uint32_t i) {
                                     return is_active(sample.states[i]) &&
                                            inventory.ports[i].active_mbps <
                                                inventory.ports[i].nominal_mbps;
                                 }));
    if (inventory.has_lids) {
        checks.push_back(check_lids(inventory));
    }
    const auto rate = [&](std::uint32_t i) {
        return i < snapshot.rates.size() ? snapshot.rates[i] : PortRate{};
    };
    checks.push_back(check_ports(snapshot, "errors", Severity::kWarning, "count errors now",
                                 "no port counts errors now",
                                 [&](std::uint32_t i) { return rate(i).errors > 0; }));
    checks.push_back(check_ports(snapshot, "congestion", Severity::kWarning,
                                 "wait for credits a fifth of the time or more",
                                 "no port waits long for credits",
                                 [&](std::uint32_t i) { return rate(i).wait_share > kCongested; }));
    checks.push_back(check_alarms(alarms));
    return checks;
}

Check check_topology(const Inventory& expected, const Inventory& found) {
    Check check{"topology", Severity::kInfo, "nodes and cables are as in the saved topology", {}};
    for (const Difference& difference : compare(expected, found)) {
        check.objects.push_back(difference.text);
    }
    if (!check.objects.empty()) {
        check.severity = Severity::kMinor;
        check.text = fmt::format("{} difference{} from the saved topology", check.objects.size(),
                                 check.objects.size() == 1 ? "" : "s");
    }
    return check;
}

}  // namespace softib::telemetry
