// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/wire/mad/notice.h"

namespace softib::telemetry {

namespace {

constexpr std::uint64_t kOneWayNs = 3'000'000'000;
constexpr float kOneWayPackets = 100;  // Per second; fewer may all be under way still.

bool is_up(PortState state) {
    return state == PortState::kActive || state == PortState::kActiveDefer;
}

using Objects = std::set<std::string, std::less<>>;

/// Returns the objects that have an active alarm of a kind.
Objects objects_of(const EventBook& book, std::string_view kind) {
    Objects found;
    for (const Event& alarm : book.alarms()) {
        if (alarm.kind == kind) {
            found.insert(alarm.object);
        }
    }
    return found;
}

/// Makes the alarms of a kind inactive, except those at some objects: what was repaired, and what
/// is no part of the fabric any more.
void clear_others(EventBook& book, std::string_view kind, const Objects& wrong, std::int64_t time) {
    for (const std::string& object : objects_of(book, kind)) {
        if (!wrong.contains(object)) {
            book.clear(kind, object, time);
        }
    }
}

bool same_ports(const Snapshot& before, const Snapshot& now) {
    return before.number != 0 && before.sample.states.size() == now.sample.states.size() &&
           before.inventory->ports.size() == now.inventory->ports.size();
}

struct TrapText {
    std::uint16_t number;
    Severity severity;
    const char* kind;
    const char* text;
};
constexpr TrapText kTraps[] = {
    {wire::trap::kLinkStateChanged, Severity::kInfo, "link_state_changed",
     "a port of this switch changed its state (trap 128)"},
    {wire::trap::kLocalLinkIntegrity, Severity::kMinor, "link_integrity_trap",
     "too many link integrity errors (trap 129)"},
    {wire::trap::kExcessiveBufferOverrun, Severity::kMinor, "buffer_overrun_trap",
     "too many buffer overruns (trap 130)"},
    {wire::trap::kFlowControlWatchdog, Severity::kMinor, "flow_control_trap",
     "no flow control packets (trap 131)"},
    {wire::trap::kLocalChanges, Severity::kInfo, "local_changes",
     "capabilities or the description changed (trap 144)"},
    {wire::trap::kBadMKey, Severity::kCritical, "bad_m_key", "a wrong M_Key (trap 256)"},
    {wire::trap::kBadPKey, Severity::kWarning, "bad_p_key", "a wrong P_Key (trap 257)"},
    {wire::trap::kBadQKey, Severity::kWarning, "bad_q_key", "a wrong Q_Key (trap 258)"},
    {wire::trap::kBadPKeyAtSwitch, Severity::kWarning, "bad_p_key_at_switch",
     "a wrong P_Key at a switch port (trap 259)"},
};

std::string name_by_lid(const Inventory& inventory, Lid lid) {
    const auto node = std::ranges::find(inventory.nodes, lid, &Node::lid);
    return node == inventory.nodes.end() ? fmt::format("LID {}", lid.value) : node->name;
}

std::string name_by_guid(const Inventory& inventory, Guid guid) {
    for (const Node& node : inventory.nodes) {
        if (node.guid == guid ||
            (node.port_count != 0 && inventory.ports[node.port_first].guid == guid)) {
            return node.name;
        }
    }
    return to_string(guid);
}

}  // namespace

void tell_notice(const Notice& notice, const Inventory& inventory, EventBook& book) {
    const auto manager = [&](Severity severity, const char* kind) {
        book.raise({severity, kind, "manager", inventory.fabric, notice.text, false},
                   notice.time_us);
    };
    switch (notice.kind) {
        case Notice::kSweep:
            return manager(Severity::kInfo, "sweep");
        case Notice::kManagerState:
            return manager(Severity::kInfo, "manager_state");
        case Notice::kRoutingFailed:
            return manager(Severity::kMinor, "routing_failed");
        case Notice::kSilentNode:
            return manager(Severity::kWarning, "silent_node");
        case Notice::kWarning:
            return manager(Severity::kWarning, "manager_warning");
        case Notice::kPortAppeared:
        case Notice::kPortVanished: {
            const bool came = notice.kind == Notice::kPortAppeared;
            book.raise({came ? Severity::kInfo : Severity::kWarning,
                        came ? "port_in_service" : "port_out_of_service", "manager",
                        name_by_guid(inventory, notice.guid), notice.text, false},
                       notice.time_us);
            return;
        }
        case Notice::kTrap:
            break;
    }
    const auto* const known = std::ranges::find(kTraps, notice.trap, &TrapText::number);
    const bool is_known = known != std::end(kTraps);
    book.raise({is_known ? known->severity : Severity::kInfo,
                is_known ? known->kind : fmt::format("trap_{}", notice.trap), "trap",
                name_by_lid(inventory, notice.lid), is_known ? known->text : notice.text, false},
               notice.time_us);
}

void Watch::follow(const Snapshot& before, const Snapshot& now, const std::vector<Notice>& notices,
                   EventBook& book) {
    for (const Notice& notice : notices) {
        tell_notice(notice, *now.inventory, book);
    }
    follow_silence(now, book);
    if (before.number != 0 && before.inventory->revision != now.inventory->revision) {
        follow_inventory(before, now, book);
    }
    follow_states(before, now, book);
    if (!same_ports(before, now)) {
        return;
    }
    follow_rules(before, now, book);
    follow_one_way(before, now, book);
}

void Watch::follow_inventory(const Snapshot& before, const Snapshot& now, EventBook& book) const {
    for (const Difference& difference : compare(*before.inventory, *now.inventory)) {
        const bool node =
            difference.kind == Difference::kNodeGone || difference.kind == Difference::kNodeNew;
        const bool came =
            difference.kind == Difference::kNodeNew || difference.kind == Difference::kCableNew;
        book.raise({came ? Severity::kInfo : Severity::kWarning,
                    node ? (came ? "node_added" : "node_removed")
                         : (came ? "cable_added" : "cable_changed"),
                    node ? "node" : "link", difference.object, difference.text, false},
                   now.sample.wall_us);
    }
}

/// Raises and clears the alarms for cables and nodes by what is now: a cable that was down before
/// anybody looked is as wrong as one that was just pulled. A port that comes up has a reading's
/// time for it.
void Watch::follow_states(const Snapshot& before, const Snapshot& now, EventBook& book) const {
    const Inventory& inventory = *now.inventory;
    const std::int64_t time = now.sample.wall_us;
    const auto ports =
        static_cast<std::uint32_t>(std::min(inventory.ports.size(), now.sample.states.size()));
    const bool is_first = before.number == 0 || before.instance != now.instance;
    std::vector<bool> has_port(inventory.nodes.size());
    std::vector<bool> is_down(ports);
    for (std::uint32_t i = 0; i < ports; ++i) {
        const PortState state = now.sample.states[i];
        const bool up = is_up(state);
        is_down[i] = !up && (state == PortState::kDown || !is_first);
        has_port[inventory.ports[i].node] = has_port[inventory.ports[i].node] || up;
    }
    // Names are made only for what is wrong: a fabric may have 100,000 ports.
    const Objects told_nodes = objects_of(book, "node_down");
    const Objects told_ports = objects_of(book, "link_down");
    Objects dead;
    Objects down;
    for (std::size_t i = 0; i < inventory.nodes.size(); ++i) {
        const Node& node = inventory.nodes[i];
        const bool is_dead = node.port_count != 0 && node.port_first < ports && !has_port[i] &&
                             is_down[node.port_first];
        if (is_dead && dead.insert(node.name).second && !told_nodes.contains(node.name)) {
            book.raise({Severity::kCritical, "node_down", "node", node.name,
                        fmt::format("{} has no active port", node.name), true},
                       time);
        } else if (!is_dead && told_nodes.contains(node.name)) {
            book.raise({Severity::kInfo, "node_up", "node", node.name,
                        fmt::format("{} is back", node.name), false},
                       time);
        }
    }
    for (std::uint32_t i = 0; i < ports; ++i) {
        if (!is_down[i] && told_ports.empty()) {
            continue;
        }
        const std::string name = inventory.port_name(i);
        const bool is_told = told_ports.contains(name);
        if (is_down[i] && down.insert(name).second && !is_told) {
            book.raise({Severity::kCritical, "link_down", "link", name,
                        fmt::format("the link to {} is down", inventory.peer_name(i)), true},
                       time);
        } else if (!is_down[i] && is_told) {
            book.raise({Severity::kInfo, "link_up", "link", name,
                        fmt::format("the link to {} is up", inventory.peer_name(i)), false},
                       time);
        }
    }
    clear_others(book, "link_down", down, time);
    clear_others(book, "node_down", dead, time);
}

void Watch::follow_silence(const Snapshot& now, EventBook& book) const {
    const Objects silent(now.sample.silent.begin(), now.sample.silent.end());
    for (const std::string& name : silent) {
        if (!book.is_active("no_answer", name)) {
            book.raise({Severity::kMinor, "no_answer", "node", name,
                        fmt::format("{} does not answer", name), true},
                       now.sample.wall_us);
        }
    }
    clear_others(book, "no_answer", silent, now.sample.wall_us);
}

void Watch::follow_rules(const Snapshot& before, const Snapshot& now, EventBook& book) {
    const Inventory& inventory = *now.inventory;
    const std::size_t ports = inventory.ports.size();
    if (revision_ != inventory.revision || broken_ns_.size() != rules_.size()) {
        broken_ns_.assign(rules_.size(), std::vector<std::uint64_t>(ports, 0));
        one_way_ns_.assign(ports, 0);
        revision_ = inventory.revision;
    }
    const std::uint64_t passed_ns = now.sample.time_ns - before.sample.time_ns;
    const double seconds = std::max(1e-3, static_cast<double>(passed_ns) / 1e9);
    for (std::size_t r = 0; r < rules_.size(); ++r) {
        const Rule& rule = rules_[r];
        Objects broken_at;
        for (std::uint32_t i = 0; i < ports; ++i) {
            if (now.sample.fresh[i] == 0) {
                if (broken_ns_[r][i] != 0) {
                    broken_at.insert(inventory.port_name(i));  // Nobody knows better.
                }
                continue;
            }
            const double value = value_of(rule, inventory.ports[i], now.rates[i],
                                          before.sample.counts[i], now.sample.counts[i], seconds);
            std::uint64_t& broken = broken_ns_[r][i];
            if (rule.is_below ? value >= rule.limit : value <= rule.limit) {
                broken = 0;
                continue;
            }
            broken_at.insert(inventory.port_name(i));
            const bool was = broken >= std::uint64_t{rule.seconds} * 1'000'000'000;
            // The first reading that breaks the rule counts for at least the second before it.
            broken += broken == 0 ? std::max<std::uint64_t>(passed_ns, 1'000'000'000) : passed_ns;
            if (!was && broken >= std::uint64_t{rule.seconds} * 1'000'000'000) {
                book.raise({rule.severity, rule.name, "threshold", inventory.port_name(i),
                            fmt::format("{} is {:.3g}, {} {:.3g}", rule.quantity, value,
                                        rule.is_below ? "below" : "above", rule.limit),
                            true},
                           now.sample.wall_us);
            }
        }
        clear_others(book, rule.name, broken_at, now.sample.wall_us);
    }
}

/// Raises an alarm for a cable that loses all packets in one direction: one end sends, and the
/// other receives nothing.
void Watch::follow_one_way(const Snapshot& before, const Snapshot& now, EventBook& book) {
    const Inventory& inventory = *now.inventory;
    const std::uint64_t passed_ns = now.sample.time_ns - before.sample.time_ns;
    for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
        const std::uint32_t peer = inventory.ports[i].peer;
        const bool known = peer != kNoIndex && now.sample.fresh[i] != 0 &&
                           now.sample.fresh[peer] != 0 && is_up(now.sample.states[i]);
        const bool lost =
            known && now.rates[i].xmit_packets > kOneWayPackets && now.rates[peer].rcv_packets <= 0;
        std::uint64_t& lost_ns = one_way_ns_[i];
        if (!lost) {
            if (lost_ns >= kOneWayNs) {
                book.clear("one_way_cable", inventory.port_name(i), now.sample.wall_us);
            }
            lost_ns = 0;
            continue;
        }
        const bool was = lost_ns >= kOneWayNs;
        lost_ns += passed_ns;
        if (!was && lost_ns >= kOneWayNs) {
            book.raise(
                {Severity::kCritical, "one_way_cable", "link", inventory.port_name(i),
                 fmt::format("packets sent to {} do not arrive", inventory.peer_name(i)), true},
                now.sample.wall_us);
        }
    }
}

}  // namespace softib::telemetry
