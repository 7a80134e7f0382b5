// SPDX-License-Identifier: BSD-2-Clause
#include "run/make.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "run/check.h"
#include "run/options.h"
#include "spec/key_rule.h"

namespace softib::run {

namespace {

using Given = spec::Scenario::Given;

/// The traffic if neither a scenario nor a flag names one.
constexpr char kTrafficDefault[] = "permutation";
constexpr char kText[] = "a scenario given as text";  // Instead of a file's name in errors.

/// Puts what was asked for together.
class Maker {
  public:
    explicit Maker(const Asked& asked) : asked_(asked) {}

    std::expected<Run, Refusal> make() {
        for (const auto step : {&Maker::sort_flags, &Maker::read_file, &Maker::set_fabric,
                                &Maker::set_keys, &Maker::set_traffic, &Maker::set_failures}) {
            if (const spec::Result done = (this->*step)(); !done) {
                return std::unexpected(Refusal{done.error(), done.error().starts_with("--")});
            }
        }
        run_.outputs = settings_.outputs;
        run_.place = settings_.place;
        run_.sweep = settings_.sweep;
        run_.place.job = asked_.job && !wish_.sweep;
        run_.place.libraries = asked_.libraries;
        if (run_.place.job) {
            options_.push_back({"mpirun", "", "mpirun"});
        }
        std::ranges::copy(wish_.given, std::back_inserter(options_));
        if (const spec::Result chosen = choose_kind(); !chosen) {
            return std::unexpected(Refusal{chosen.error(), false});
        }
        if (asked_.one_simulation && run_.kind_name() != spec::RunKind::kSingle) {
            return std::unexpected(Refusal{refuse_kind()});
        }
        if (auto idle = find_idle(run_, options_)) {
            return std::unexpected(Refusal{*std::move(idle)});
        }
        if (auto clash = check_files()) {
            return std::unexpected(Refusal{*std::move(clash)});
        }
        return std::move(run_);
    }

  private:
    /// Sets options, and sorts all other flags by the table that has their key.
    spec::Result sort_flags() {
        for (const auto& [key, value] : asked_.flags) {
            if (const Option* const option = find_option(key)) {
                if (const spec::Result set = option->set(settings_, value); !set) {
                    return std::unexpected(fmt::format("{} {}", option->flag, set.error()));
                }
                options_.push_back(
                    {key, value, option->flag.empty() ? key : std::string(option->flag)});
            } else if (key == "traffic") {
                traffics_.push_back(value);
            } else if (spec::is_traffic_key(key)) {
                traffic_keys_.emplace_back(key, value);
            } else if (key.starts_with("fail_")) {
                failures_.emplace_back(key, value);
            } else if (spec::find_serves(key) != nullptr) {
                keys_.emplace_back(key, value);
            } else {
                fabric_keys_.emplace_back(key, value);
            }
        }
        return {};
    }

    spec::Result read_file() {
        if (!settings_.sweep_file.empty() && (!asked_.file.empty() || asked_.text)) {
            return std::unexpected(
                fmt::format("--sweep {} goes with no other file: it names its scenario as base",
                            settings_.sweep_file));
        }
        const std::string& file = settings_.sweep_file.empty() ? asked_.file : settings_.sweep_file;
        if (asked_.text) {
            return spec::parse_scenario(*asked_.text, kText, asked_.folder, run_.scenario, wish_);
        }
        return file.empty() ? spec::Result{} : spec::load_scenario(file, run_.scenario, wish_);
    }

    spec::Result set_fabric() {
        spec::Description& fabric = run_.scenario.fabric;
        if (!asked_.config.empty()) {
            const auto origins = fabric.origins;
            if (auto loaded = spec::load_description(asked_.config, fabric); !loaded) {
                return loaded;
            }
            // A description is that of a running fabric too: some of its keys are only for that.
            forget_origins(origins, fabric);
        }
        for (const auto& [key, value] : fabric_keys_) {
            if (auto applied = spec::apply_flag(key, value, fabric); !applied) {
                return applied;
            }
        }
        const auto from = fabric.origins.find("from");
        const bool by_flag = from != fabric.origins.end() && from->second == "--from";
        return by_flag ? spec::load_netlist(fabric) : spec::Result{};
    }

    /// Forgets where keys of a fabric stand that are not in `before`, but for those of lanes: what
    /// they say acts on a running fabric too, or is refused there.
    static void forget_origins(const decltype(spec::Description::origins)& before,
                               spec::Description& fabric) {
        std::erase_if(fabric.origins, [&](const auto& origin) {
            const spec::KeyRule* const rule = spec::find_rule(origin.first);
            return !before.contains(origin.first) && (rule == nullptr || !is_of_lanes(*rule));
        });
    }

    spec::Result set_keys() {
        for (const auto& [key, value] : keys_) {
            if (auto applied = spec::apply_scenario_flag(key, value, run_.scenario); !applied) {
                return applied;
            }
        }
        return {};
    }

    /// Flags about traffic replace the file's traffics. Keys without --traffic are those of the
    /// default traffic.
    spec::Result set_traffic() {
        spec::Scenario& scenario = run_.scenario;
        if (!traffics_.empty() || !traffic_keys_.empty()) {
            spec::forget_traffic(scenario);
        }
        for (const std::string& traffic : traffics_) {
            if (auto added = spec::add_traffic(traffic, traffic_keys_, "--traffic", scenario);
                !added) {
                return added;
            }
        }
        if (scenario.traffics.empty()) {
            if (auto added =
                    spec::add_traffic(kTrafficDefault, traffic_keys_, "--traffic", scenario);
                !added) {
                return added;
            }
            scenario.given.pop_back();  // Nobody asked for its pattern.
        }
        for (const auto& [key, value] : traffic_keys_) {
            scenario.given.push_back({key, value, spec::flag_name(key)});
        }
        return {};
    }

    spec::Result set_failures() {
        for (const auto& [key, value] : failures_) {
            if (auto added = spec::add_failure(key, value, spec::flag_name(key), run_.scenario);
                !added) {
                return added;
            }
        }
        return {};
    }

    spec::Result choose_kind() {
        const spec::Scenario& scenario = run_.scenario;
        const bool sharp = std::ranges::any_of(scenario.traffics, [](const auto& wish) {
            return wish.traffic.pattern == plan::Pattern::kSharpAllReduce;
        });
        if (!settings_.sweep_file.empty() && !wish_.sweep) {
            return std::unexpected(
                fmt::format("{}: nothing varies: write lists of values in [vary], or seeds = 10",
                            settings_.sweep_file));
        }
        if (wish_.sweep) {
            if (auto checked = spec::check_sweep(*wish_.sweep, scenario); !checked) {
                return checked;
            }
            if (wish_.sweep->file == kText) {
                wish_.sweep->file = "sweep";
            }
            run_.kind = Sweep{*std::move(wish_.sweep), common_text()};
        } else if (wish_.whatif || settings_.whatif) {
            run_.kind = WhatIf{settings_.draws.value_or(wish_.draws.value_or(1))};
        } else if (!scenario.compare.empty()) {
            run_.kind = Compare{scenario.compare};
        } else if (sharp) {
            Sharp kind{{.bytes = scenario.traffics.front().traffic.bytes}};
            if (std::ranges::find(scenario.given, "hca_latency", &Given::key) !=
                scenario.given.end()) {
                kind.task.hca_ps = scenario.options.plant.hca_ps;
            }
            run_.kind = kind;
        }
        return {};
    }

    /// Returns what makes this another kind of run than one simulation.
    std::string refuse_kind() const {
        const spec::RunKind kind = run_.kind_name();
        const auto makes_it = [&](const Given& given) {
            const Option* const option = find_option(given.key);
            const spec::Serves* const serves =
                option != nullptr ? &option->serves : spec::find_serves(given.key);
            return kind == spec::RunKind::kSharp
                       ? given.key == "pattern"
                       : serves->kinds.has(kind) && !serves->kinds.has(spec::RunKind::kSingle);
        };
        Given found{.key = "pattern", .value = {}, .origin = kText};
        for (const std::vector<Given>* const all : {&options_, &run_.scenario.given}) {
            if (const auto at = std::ranges::find_if(*all, makes_it); at != all->end()) {
                found = *at;
            }
        }
        return fmt::format(
            "{}: '{}' makes this {}, and here is room for one simulation: leave it out, or ask for "
            "the answer as a whole (softib_ask, in Python softib.ask)",
            found.origin, found.key, spec::described(kind));
    }

    /// Returns the base of a sweep as text: every key, and every file that the keys name.
    std::string common_text() const {
        const spec::Scenario& scenario = run_.scenario;
        std::string text = spec::to_toml(scenario.fabric);
        const auto add = [&](std::string_view part) { text += fmt::format("{}{}", '\0', part); };
        add(scenario.fabric.netlist);
        for (const spec::TrafficWish& wish : scenario.traffics) {
            std::ifstream in(wish.pairs_file, std::ios::binary);
            add(std::string{std::istreambuf_iterator<char>(in), {}});
        }
        for (const Given& given : scenario.given) {
            add(fmt::format("{}={} {}", given.key, given.value, given.traffic));
        }
        return text;
    }

    /// Returns what is wrong with the files that shall be written.
    std::optional<std::string> check_files() const {
        std::set<std::string> files;
        const auto clash = [&](const std::string& flag, const std::string& file) {
            return !file.empty() && !files.insert(file).second
                       ? std::optional(
                             fmt::format("{}: {} would be written twice: name another file", flag,
                                         file == "-" ? "standard output" : file))
                       : std::nullopt;
        };
        const Outputs& out = run_.outputs;
        if (out.json) {
            files.insert("-");
        }
        for (const auto& [flag, file] :
             {std::pair("--csv", out.csv), std::pair("--csv-links", out.csv_links),
              std::pair("--html", out.html), std::pair("--record", out.record),
              std::pair("--db", run_.sweep.database)}) {
            if (auto twice = clash(flag, file)) {
                return twice;
            }
        }
        for (const std::string& each : out.exports) {
            if (auto twice = clash("--export", each.substr(each.find('=') + 1))) {
                return twice;
            }
        }
        return std::nullopt;
    }

    const Asked& asked_;
    Run run_ = {};
    Settings settings_ = {};
    spec::RunWish wish_ = {};
    std::vector<Given> options_ = {};
    spec::KeyTexts fabric_keys_ = {};
    spec::KeyTexts keys_ = {};
    std::vector<std::string> traffics_ = {};
    spec::KeyTexts traffic_keys_ = {};
    spec::KeyTexts failures_ = {};
};

}  // namespace

std::expected<Run, Refusal> make_run(const Asked& asked) {
    return Maker(asked).make();
}

}  // namespace softib::run
