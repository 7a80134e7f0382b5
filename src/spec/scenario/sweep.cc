// SPDX-License-Identifier: BSD-2-Clause
#include "spec/scenario/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "spec/scenario/keys.h"
#include "spec/scenario/sweep_file.h"
#include "spec/scenario/toml_file.h"

namespace softib::spec {

namespace {

constexpr std::int64_t kSeedsMax = 10'000;

std::vector<std::string_view> varied_names() {
    std::vector<std::string_view> names{"traffic"};
    for (const ScenarioKey& key : scenario_keys()) {
        if (key.name != "pattern" && key.name != "compare") {
            names.push_back(key.name);
        }
    }
    for (const ConfigKey& key : config_keys()) {
        names.push_back(key.name);
    }
    return names;
}

/// Reads the axes of one file.
class SweepReader {
  public:
    SweepReader(const std::string& file, RunWish& wish) : file_(file), wish_(wish) {}

    /// Reads the keys `seeds` and `vary` of a file's top.
    Result read(const toml::table& table) {
        for (auto&& [key, node] : table) {
            if (key != "seeds" && key != "vary") {
                continue;
            }
            wish_.given.push_back({std::string(key.str()), "", place(file_, key.source())});
            if (auto taken = key == "seeds" ? take_seeds(node) : take_vary(node); !taken) {
                return taken;
            }
        }
        if (seeds_ != 0) {
            SweepAxis axis{.key = "seed", .choices = {}};
            for (std::int64_t seed = 1; seed <= seeds_; ++seed) {
                axis.choices.push_back({std::to_string(seed), seeds_at_});
            }
            sweep_.axes.push_back(std::move(axis));
        }
        if (sweep_.axes.empty()) {
            return {};
        }
        if (auto checked = check_size(); !checked) {
            return checked;
        }
        wish_.sweep = std::move(sweep_);
        return {};
    }
    void set_folder(const std::filesystem::path& folder) {
        sweep_.file = file_;
        sweep_.folder = folder;
    }

  private:
    Result refuse(const toml::source_region& where, const std::string& message) const {
        return std::unexpected(fmt::format("{}: {}", place(file_, where), message));
    }
    Result take_seeds(const toml::node& node) {
        const toml::value<std::int64_t>* const count = node.as_integer();
        if (count == nullptr || count->get() < 1 || count->get() > kSeedsMax) {
            return refuse(node.source(),
                          fmt::format("'seeds' must be a whole number from 1 to {}; lists of seeds "
                                      "are 'seed' in [vary]",
                                      kSeedsMax));
        }
        seeds_ = count->get();
        seeds_at_ = place(file_, node.source());
        return {};
    }
    Result take_vary(const toml::node& node) {
        const toml::table* const table = node.as_table();
        if (table == nullptr) {
            return refuse(node.source(), "write it as a section [vary]");
        }
        // The table is not in the order of the file, so axes are sorted by their place.
        std::vector<std::pair<toml::source_region, SweepAxis>> found;
        for (auto&& [key, value] : *table) {
            SweepAxis axis{.key = std::string(key.str()), .choices = {}};
            if (auto taken = take_axis(key, value, axis); !taken) {
                return taken;
            }
            found.emplace_back(key.source(), std::move(axis));
        }
        std::ranges::stable_sort(found, {}, [](const auto& each) {
            return std::tuple(each.first.begin.line, each.first.begin.column);
        });
        for (auto& [source, axis] : found) {
            sweep_.axes.push_back(std::move(axis));
        }
        return {};
    }
    Result take_axis(const toml::key& key, const toml::node& node, SweepAxis& axis) {
        const std::vector<std::string_view> names = varied_names();
        if (std::ranges::find(names, key.str()) == names.end()) {
            return refuse(key.source(), unknown_among(key.str(), names));
        }
        const toml::array* const list = node.as_array();
        if (list == nullptr || list->empty()) {
            return refuse(node.source(),
                          fmt::format("'{}' must be a list of values, as [64, 128]", key.str()));
        }
        for (const toml::node& each : *list) {
            auto text = text_of(each);
            const std::string origin = place(file_, each.source());
            if (!text) {
                return refuse(each.source(),
                              fmt::format("'{}' takes texts, numbers, true and false", key.str()));
            }
            const auto same = std::ranges::find(axis.choices, *text, &SweepAxis::Choice::value);
            if (same != axis.choices.end()) {
                return refuse(each.source(), fmt::format("'{}' has the value {} twice; leave one "
                                                         "out",
                                                         key.str(), *text));
            }
            axis.choices.push_back({*std::move(text), origin});
        }
        return {};
    }
    Result check_size() const {
        const auto of_seed = [](const SweepAxis& axis) { return axis.key == "seed"; };
        if (std::ranges::count_if(sweep_.axes, of_seed) > 1) {
            return std::unexpected(
                fmt::format("{}: take either 'seeds' or 'seed' in [vary], not both", seeds_at_));
        }
        std::uint64_t points = 1;
        for (const SweepAxis& axis : sweep_.axes) {
            points *= axis.choices.size();
            if (points > kSweepPointsMax) {
                return std::unexpected(fmt::format(
                    "{}: more than {} points; vary fewer keys, or split the sweep into several",
                    file_, kSweepPointsMax));
            }
        }
        return {};
    }

    const std::string& file_;
    RunWish& wish_;
    Sweep sweep_ = {};
    std::int64_t seeds_ = 0;
    std::string seeds_at_ = {};
};

/// Returns where a value of an axis was given.
std::string origin_of(const Sweep& sweep, const std::string& key, const std::string& value) {
    const auto axis = std::ranges::find(sweep.axes, key, &SweepAxis::key);
    if (axis == sweep.axes.end()) {
        return sweep.file;
    }
    const auto choice = std::ranges::find(axis->choices, value, &SweepAxis::Choice::value);
    return choice == axis->choices.end() ? sweep.file : choice->origin;
}

/// Sets one key of the fabric.
Result apply_fabric_key(const Sweep& sweep, const std::string& key, const std::string& value,
                        const std::string& origin, Scenario& scenario) {
    const std::string text = key == "from" ? (sweep.folder / value).string() : value;
    if (auto done = apply_flag(key, text, scenario.fabric); !done) {
        std::string message = done.error();
        if (const std::string flag = flag_name(key); message.starts_with(flag)) {
            message = fmt::format("'{}'{}", key, message.substr(flag.size()));
        }
        return std::unexpected(message);
    }
    scenario.fabric.origins.insert_or_assign(key, origin);
    return key == "from" ? load_netlist(scenario.fabric) : Result{};
}

/// Sets one key, which was given at `origin`. The error is a sentence that begins with the key.
Result apply_key(const Sweep& sweep, const std::string& key, const std::string& value,
                 const std::string& origin, Scenario& scenario) {
    const auto name = [&](const Result& result) -> Result {
        return result ? result : std::unexpected(fmt::format("'{}' {}", key, result.error()));
    };
    if (key == "traffic") {
        forget_traffic(scenario);
        return add_traffic(value, {}, origin, scenario);
    }
    if (key.starts_with("fail_")) {
        return add_failure(key, value, origin, scenario);
    }
    const ScenarioRule* const rule = find_in(scenario_rules(), key);
    const bool of_traffic = find_in(traffic_rules(), key) != nullptr;
    if (rule == nullptr && !of_traffic) {
        return apply_fabric_key(sweep, key, value, origin, scenario);
    }
    if (of_traffic && scenario.traffics.empty()) {
        scenario.traffics.emplace_back();
    }
    scenario.given.push_back({key, value, origin});
    return name(rule != nullptr ? rule->set(scenario, value)
                                : set_traffic_key(key, value, scenario));
}

}  // namespace

std::uint64_t Sweep::point_count() const {
    std::uint64_t count = 1;
    for (const SweepAxis& axis : axes) {
        count *= axis.choices.size();
    }
    return count;
}

SweepPoint Sweep::point(std::uint64_t number) const {
    SweepPoint point(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
        const std::size_t choices = axes[i].choices.size();
        point[i] = {axes[i].key, axes[i].choices[number % choices].value};
        number /= choices;
    }
    return point;
}

Result read_sweep(const toml::table& table, const std::string& file,
                  const std::filesystem::path& folder, RunWish& wish) {
    SweepReader reader(file, wish);
    reader.set_folder(folder);
    return reader.read(table);
}

Result check_sweep(const Sweep& sweep, const Scenario& base) {
    for (const SweepAxis& axis : sweep.axes) {
        for (const SweepAxis::Choice& choice : axis.choices) {
            Scenario scratch = base;
            if (auto done = apply_key(sweep, axis.key, choice.value, choice.origin, scratch);
                !done) {
                return std::unexpected(fmt::format("{}: {}", choice.origin, done.error()));
            }
        }
    }
    return {};
}

/// Sets the key "traffic" first, so that other keys of traffic change the traffic that it adds.
Result apply_point(const Sweep& sweep, const SweepPoint& point, Scenario& scenario) {
    for (const bool traffic : {true, false}) {
        for (const auto& [key, value] : point) {
            if ((key == "traffic") != traffic) {
                continue;
            }
            if (auto done = apply_key(sweep, key, value, origin_of(sweep, key, value), scenario);
                !done) {
                return done;
            }
        }
    }
    return {};
}

}  // namespace softib::spec
