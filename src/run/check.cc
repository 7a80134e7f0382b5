// SPDX-License-Identifier: BSD-2-Clause
#include "run/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "plan/traffic.h"
#include "run/options.h"
#include "spec/key_rule.h"

namespace softib::run {

namespace {

using Given = spec::Scenario::Given;
using spec::Serves;

/// Serves of keys of a fabric that nothing in virtual time looks at.
constexpr Serves kRunning{.kinds = {}};

/// What a user gave, and what has become of it so far.
struct Pending {
    Given given;
    const Serves* serves = nullptr;
    bool acts = false;      ///< It acts in one of the scenarios that were looked at.
    bool seen = false;      ///< One of them had it.
    bool replaced = false;  ///< Every point of a sweep has another value.
    std::string why = {};   ///< Why it did not act in the first of them.
};

std::string refuse(const Given& given, const std::string& why, std::string_view instead) {
    return fmt::format("{}: '{}' {}: {}", given.origin, given.key, why,
                       instead.empty() ? "leave it out" : instead);
}

std::string pattern_names(const spec::Patterns& patterns) {
    std::string names;
    for (const plan::Pattern pattern : plan::kAllPatterns) {
        if (patterns.has(pattern)) {
            names += fmt::format("{}{}", names.empty() ? "" : ", ", plan::to_string(pattern));
        }
    }
    return names;
}

/// Returns why a key of traffic does not act with one traffic; empty if it does.
std::string idle_with(const Pending& each, const spec::Scenario& scenario,
                      const spec::TrafficWish& wish, spec::RunKind kind) {
    const plan::Pattern pattern = wish.traffic.pattern;
    const bool sharp = pattern == plan::Pattern::kSharpAllReduce;
    const bool alone = kind == spec::RunKind::kSharp && scenario.traffics.size() == 1;
    if (each.given.key == "pattern" && (sharp ? !alone : kind == spec::RunKind::kSharp)) {
        return fmt::format(
            "{}: {} stands alone: no other traffic and no other kind of run goes "
            "with it",
            each.given.origin, plan::to_string(plan::Pattern::kSharpAllReduce));
    }
    if (!each.serves->patterns.has(pattern)) {
        return refuse(each.given,
                      fmt::format("is for the patterns {}, not for {}",
                                  pattern_names(each.serves->patterns), plan::to_string(pattern)),
                      each.serves->instead);
    }
    if (each.serves->acts != nullptr && !each.serves->acts(scenario, &wish)) {
        return fmt::format("{}: '{}' does nothing without {}", each.given.origin, each.given.key,
                           each.serves->acts_with);
    }
    return {};
}

/// Returns why a key does not act in a scenario; empty if it does.
std::string idle_in(const Pending& each, const spec::Scenario& scenario, spec::RunKind kind) {
    const Serves& serves = *each.serves;
    const hca::LinkLayer layer = scenario.fabric.link_layer;
    if (&serves == &kRunning) {
        return refuse(each.given, "is for running fabrics, not for simulations", "");
    }
    if (!serves.kinds.has(kind)) {
        // What would act on the other link layer does not act in this kind of run either.
        const bool of_layer =
            serves.layers != spec::Layers::all() && find_option(each.given.key) == nullptr;
        return refuse(each.given, fmt::format("is not for {}", spec::described(kind)),
                      of_layer || !serves.layers.has(layer) ? "" : serves.instead);
    }
    if (!serves.layers.has(layer)) {
        return layer == hca::LinkLayer::kEthernet
                   ? refuse(each.given, "is for InfiniBand",
                            fmt::format("leave it out{}{}", serves.instead.empty() ? "" : ", ",
                                        serves.instead))
                   : refuse(each.given, "is for Ethernet", serves.instead);
    }
    if (!serves.models.has(scenario.model)) {
        return refuse(each.given, "needs packets, and the flow model has none",
                      serves.instead.empty() || each.given.key != "threads"
                          ? "leave it out, or take the model packet"
                          : serves.instead);
    }
    const bool of_traffic = spec::is_traffic_key(each.given.key);
    if (!of_traffic) {
        return serves.acts == nullptr || serves.acts(scenario, nullptr)
                   ? ""
                   : fmt::format("{}: '{}' does nothing without {}", each.given.origin,
                                 each.given.key, serves.acts_with);
    }
    // A flag is for the traffics that do not say it themselves.
    const auto says_itself = [&](std::size_t traffic) {
        return each.given.origin.starts_with("--") &&
               std::ranges::any_of(scenario.given, [&](const Given& other) {
                   return other.key == each.given.key && other.traffic == traffic;
               });
    };
    std::string why;
    for (std::size_t i = 0; i < scenario.traffics.size(); ++i) {
        const bool of_all = each.given.traffic == Given::kEveryTraffic;
        if (!of_all && each.given.traffic != i) {
            continue;
        }
        if (of_all && says_itself(i)) {
            why = why.empty() ? refuse(each.given, "changes nothing, since every traffic says it",
                                       "say it only there")
                              : why;
            continue;
        }
        std::string idle = idle_with(each, scenario, scenario.traffics[i], kind);
        if (idle.empty()) {
            return "";
        }
        why = why.empty() ? std::move(idle) : why;
    }
    return why;
}

/// Returns where the keys of a fabric's description act.
const Serves& serves_of(const spec::KeyRule& rule) {
    static constexpr Serves kAlways{};
    // Each network of a comparison has a link layer of its own.
    static constexpr Serves kLinkLayer{
        .kinds = spec::Kinds::but({spec::RunKind::kCompare, spec::RunKind::kSharp})};
    // Names of hosts, by which keys of traffic and failures call them.
    static constexpr Serves kNames{.kinds = spec::kOfMessages};
    if (rule.key.name == "host_pattern" || rule.key.name == "device_pattern") {
        return kNames;
    }
    // Quality of service of our subnet manager: its switch, and the keys that need it.
    static constexpr Serves kLanes{.kinds = spec::kOfMessages,
                                   .models = spec::kPackets,
                                   .layers = {hca::LinkLayer::kInfiniBand}};
    static constexpr Serves kOfQos{
        .kinds = spec::kOfMessages,
        .models = spec::kPackets,
        .layers = {hca::LinkLayer::kInfiniBand},
        .acts = [](const spec::Scenario& s, const spec::TrafficWish*) { return s.fabric.qos.on; },
        .acts_with = "qos"};
    if (rule.key.name == "link_layer") {
        return kLinkLayer;
    }
    if (is_of_lanes(rule)) {
        return rule.key.name == "qos" || rule.key.name == "max_op_vls" ? kLanes : kOfQos;
    }
    return rule.about == spec::About::kShape || rule.simulated ? kAlways : kRunning;
}

/// Notes a key that a scenario has. Returns it among all that were noted.
Pending& note(const Given& given, const Serves* serves, std::vector<Pending>& all) {
    const auto known = std::ranges::find_if(all, [&](const Pending& each) {
        return each.given.key == given.key && each.given.origin == given.origin &&
               each.given.traffic == given.traffic;
    });
    return known != all.end() ? *known : all.emplace_back(given, serves);
}

/// Looks whether the keys that one scenario of a run has act in it.
void look(const spec::Scenario& scenario, spec::RunKind kind, std::vector<Pending>& all) {
    const auto look_at = [&](Pending& each) {
        if (!each.acts && !each.replaced) {
            std::string why = idle_in(each, scenario, kind);
            each.acts = why.empty();
            each.why = each.seen ? each.why : std::move(why);
            each.seen = true;
        }
    };
    for (const Given& given : scenario.given) {
        look_at(note(given, spec::find_serves(given.key), all));
    }
    for (const auto& [key, origin] : scenario.fabric.origins) {
        if (const spec::KeyRule* const rule = spec::find_rule(key)) {
            look_at(note({key, "", origin}, &serves_of(*rule), all));
        }
    }
    for (Pending& each : all) {
        if (find_option(each.given.key) != nullptr) {
            look_at(each);
        }
    }
}

bool all_act(const std::vector<Pending>& all) {
    return std::ranges::all_of(all, &Pending::acts);
}

/// Looks at the points of a sweep: first at each value of each key beside the first values of all
/// others, then, as long as something does not act, at all points.
void look_at_points(const spec::Scenario& base, const spec::Sweep& sweep,
                    std::vector<Pending>& all) {
    const auto look_at = [&](const spec::SweepPoint& values) {
        spec::Scenario point = base;
        if (spec::apply_point(sweep, values, point)) {
            look(point, spec::RunKind::kSweep, all);
        }
    };
    // A sweep wins over its base, but a flag must not be in vain.
    const auto note_flag = [&](const Given& given, const Serves* serves) {
        if (given.origin.starts_with("--")) {
            Pending& flag = note(given, serves, all);
            flag.why = refuse(given, "is replaced at every point", "give it in [vary]");
            flag.replaced =
                std::ranges::find(sweep.axes, given.key, &spec::SweepAxis::key) != sweep.axes.end();
        }
    };
    for (const Given& given : base.given) {
        note_flag(given, spec::find_serves(given.key));
    }
    for (const auto& [key, origin] : base.fabric.origins) {
        if (const spec::KeyRule* const rule = spec::find_rule(key)) {
            note_flag({key, "", origin}, &serves_of(*rule));
        }
    }
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
        for (const spec::SweepAxis::Choice& choice : sweep.axes[axis].choices) {
            spec::SweepPoint values = sweep.point(0);
            values[axis].second = choice.value;
            look_at(values);
        }
    }
    for (std::uint64_t i = 0; i < sweep.point_count() && !all_act(all); ++i) {
        look_at(sweep.point(i));
    }
}

std::string_view flag_of(const Option& option) {
    return option.flag.empty() ? option.name : option.flag;
}

/// Returns what is wrong with an option beside the others that were given; empty: nothing.
std::string clash(const Given& given, const Option& option, const std::vector<Given>& options) {
    const auto has = [&](std::string_view name) {
        return std::ranges::find(options, name, &Given::key) != options.end();
    };
    for (const std::string_view other : option.without) {
        if (!other.empty() && has(other)) {
            return fmt::format("{}: '{}' does not go with {}: leave one of them out", given.origin,
                               given.key, flag_of(*find_option(other)));
        }
    }
    if (option.needs.empty()) {
        return {};
    }
    const std::size_t bar = option.needs.find('|');
    const std::string_view first = option.needs.substr(0, bar);
    const std::string_view second =
        bar == std::string_view::npos ? first : option.needs.substr(bar + 1);
    return has(first) || has(second)
               ? ""
               : fmt::format("{}: '{}' does nothing without --{}{}", given.origin, given.key, first,
                             first == second ? "" : fmt::format(" or --{}", second));
}

}  // namespace

bool is_of_lanes(const spec::KeyRule& rule) {
    return rule.about == spec::About::kManager && rule.simulated && rule.key.name != "engine";
}

std::optional<std::string> find_idle(const Run& run, const std::vector<Given>& options) {
    const spec::RunKind kind = run.kind_name();
    std::vector<Pending> all;
    for (const Given& given : options) {
        const Option& option = *find_option(given.key);
        if (std::string why = clash(given, option, options); !why.empty()) {
            return why;
        }
        note(given, &option.serves, all);
    }
    if (const auto* const compare = std::get_if<Compare>(&run.kind)) {
        for (const spec::Variant& variant : compare->variants) {
            const auto chosen = spec::choose_variant(run.scenario, variant);
            if (!chosen) {
                return chosen.error();
            }
            look(*chosen, kind, all);
        }
    } else if (const auto* const sweep = std::get_if<Sweep>(&run.kind)) {
        look_at_points(run.scenario, sweep->axes, all);
    } else {
        look(run.scenario, kind, all);
    }
    const auto idle = std::ranges::find(all, false, &Pending::acts);
    return idle == all.end() ? std::nullopt : std::optional(idle->why);
}

}  // namespace softib::run
