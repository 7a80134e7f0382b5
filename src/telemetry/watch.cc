// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/wire/mad/notice.h"

namespace softib::telemetry {

namespace {

constexpr std::uint64_t kOneWayNs = 3'000'000'000;
/// A cable that goes down three times within five minutes flaps.
constexpr std::uint64_t kFlapsLeast = 3;
constexpr std::uint64_t kFlapWindowNs = 300'000'000'000;
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
    if (before.number != 0 && before.inventory->revision != now.inventory->revision) {
        follow_inventory(before, now, book);
    }
    follow_states(before, now, book);
    follow_silence(now, book);
    if (!same_ports(before, now)) {
        return;
    }
    follow_flaps(before, now, book);
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
void Watch::follow_states(const Snapshot& before, const Snapshot& now, EventBook& book) {
    const bool is_anew = before.number != 0 && before.instance != now.instance;
    const bool is_first = before.number == 0 || is_anew;
    expected_.follow(now.inventory, is_anew);
    const std::vector<PortState>& states = now.sample.states;
    std::vector<bool> up(expected_.inventory().ports.size());
    std::vector<bool> down(up.size());
    for (std::uint32_t i = 0; i < up.size(); ++i) {
        const std::uint32_t place = expected_.found(i);
        if (place == kNoIndex) {
            down[i] = true;
        } else if (place < states.size()) {
            up[i] = is_up(states[place]);
            down[i] = !up[i] && (states[place] == PortState::kDown || !is_first);
        }
    }
    std::map<std::string, std::string, std::less<>> with = std::move(outage_.with);
    outage_ = find_outage(expected_.inventory(), up, down);
    if (is_anew) {
        with.clear();
    }
    tell_outage(with, now.sample.wall_us, book);
}

/// Adds what is down to the book: an alarm for each cause, and an event for each cable that is down
/// because of it. `with` are the cables of the last reading.
void Watch::tell_outage(const std::map<std::string, std::string, std::less<>>& with,
                        std::int64_t time, EventBook& book) const {
    Objects dead;
    Objects cut;
    for (const Cause& cause : outage_.causes) {
        (cause.is_node ? dead : cut).insert(cause.object);
        const char* const kind = cause.is_node ? "node_down" : "link_down";
        if (book.is_active(kind, cause.object)) {
            book.reword(kind, cause.object, cause.text, cause.peer);
        } else {
            book.raise({Severity::kCritical, kind, cause.is_node ? "node" : "link", cause.object,
                        cause.text, true, cause.peer},
                       time);
        }
    }
    const Inventory& all = expected_.inventory();
    for (const std::string& node : objects_of(book, "node_down")) {
        if (!dead.contains(node)) {
            book.clear("node_down", node, time);
            if (std::ranges::find(all.nodes, node, &Node::name) != all.nodes.end()) {
                book.raise({Severity::kInfo, "node_up", "node", node,
                            fmt::format("{} is back", node), false},
                           time);
            }
        }
    }
    const auto tell_up = [&](const std::string& port) {
        if (const auto index = all.find_port(port)) {
            book.raise({Severity::kInfo, "link_up", "link", port,
                        fmt::format("the cable to {} is up", all.peer_name(*index)), false},
                       time);
        }
    };
    for (const std::string& port : objects_of(book, "link_down")) {
        if (!cut.contains(port)) {
            book.clear("link_down", port, time);
            if (!outage_.with.contains(port)) {
                tell_up(port);
            }
        }
    }
    for (const auto& [port, node] : outage_.with) {
        if (!with.contains(port)) {
            book.raise({Severity::kWarning, "link_down", "link", port,
                        fmt::format("this cable is down with {}", node), false},
                       time);
        }
    }
    for (const auto& [port, node] : with) {
        if (!outage_.with.contains(port) && !cut.contains(port)) {
            tell_up(port);
        }
    }
}

void Watch::follow_silence(const Snapshot& now, EventBook& book) const {
    Objects silent(now.sample.silent.begin(), now.sample.silent.end());
    for (const std::string& lost : outage_.lost) {
        silent.erase(lost);  // Its alarm says more.
    }
    for (const std::string& name : silent) {
        if (!book.is_active("no_answer", name)) {
            book.raise({Severity::kMinor, "no_answer", "node", name,
                        fmt::format("{} does not answer", name), true},
                       now.sample.wall_us);
        }
    }
    clear_others(book, "no_answer", silent, now.sample.wall_us);
}

/// Raises an alarm for a cable that goes down again and again. A reading a second sees few of these
/// moments; ports count them all.
void Watch::follow_flaps(const Snapshot& before, const Snapshot& now, EventBook& book) {
    const Inventory& inventory = *now.inventory;
    for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
        const std::uint32_t peer = inventory.ports[i].peer;
        if (peer != kNoIndex && peer < i) {
            continue;
        }
        const auto grown = [&](std::uint32_t port) {
            return port == kNoIndex ? 0
                                    : growth(before.sample.counts[port].link_downed,
                                             now.sample.counts[port].link_downed);
        };
        const std::uint64_t times = std::max(grown(i), grown(peer));
        if (times == 0) {
            continue;
        }
        const bool far =
            peer != kNoIndex && inventory.node_of(peer).tier < inventory.node_of(i).tier;
        Flaps& flaps = flaps_[inventory.port_name(far ? peer : i)];
        flaps.times.push_back({now.sample.time_ns, times});
        flaps.peer = inventory.port_name(far || peer == kNoIndex ? i : peer);
    }
    for (auto& [port, flaps] : flaps_) {
        while (!flaps.times.empty() &&
               now.sample.time_ns - flaps.times.front().time_ns > kFlapWindowNs) {
            flaps.times.pop_front();
        }
        std::uint64_t times = 0;
        for (const Flaps::Seen& seen : flaps.times) {
            times += seen.times;
        }
        const bool is_now =
            !flaps.times.empty() && flaps.times.back().time_ns == now.sample.time_ns;
        if (times >= kFlapsLeast && (is_now || !book.is_active("flapping", port))) {
            book.raise(
                {Severity::kMinor, "flapping", "link", port,
                 fmt::format(
                     "the cable to {} went down {} times in {:.0f} s", flaps.peer, times,
                     static_cast<double>(now.sample.time_ns - flaps.times.front().time_ns) / 1e9 +
                         1),
                 true, flaps.peer},
                now.sample.wall_us);
        }
    }
    std::erase_if(flaps_, [](const auto& each) { return each.second.times.empty(); });
    Objects still;
    for (const auto& [port, flaps] : flaps_) {
        still.insert(port);
    }
    clear_others(book, "flapping", still, now.sample.wall_us);
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
        // A port that is down has no speed.
        const bool is_of_links = rule.quantity == "speed_share" || rule.quantity == "ber";
        for (std::uint32_t i = 0; i < ports; ++i) {
            if (is_of_links && !is_up(now.sample.states[i])) {
                broken_ns_[r][i] = 0;
                continue;
            }
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
            book.raise({Severity::kCritical, "one_way_cable", "link", inventory.port_name(i),
                        fmt::format("packets sent to {} do not arrive", inventory.peer_name(i)),
                        true, inventory.peer_name(i)},
                       now.sample.wall_us);
        }
    }
}

}  // namespace softib::telemetry
