// SPDX-License-Identifier: BSD-2-Clause
// Reads scenarios from TOML and from flags.
#include "spec/scenario/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "spec/key_rule.h"
#include "spec/scenario/keys.h"
#include "spec/scenario/sweep.h"
#include "spec/scenario/sweep_file.h"
#include "spec/scenario/toml_file.h"

namespace softib::spec {

namespace {

using Section = ScenarioKey::Section;

constexpr std::int64_t kDrawsMax = 1000;
constexpr std::string_view kSections = "fabric, network, hosts, traffic, fail, vary and whatif";

template <typename Rule>
std::string unknown_in(const std::vector<Rule>& rules, Section section, std::string_view name,
                       std::string_view where) {
    std::vector<std::string_view> names;
    for (const Rule& rule : rules) {
        if (rule.key.section == section) {
            names.push_back(rule.key.name);
        }
    }
    if (section == Section::kTop) {
        names.insert(names.end(), {"base", "seeds"});
    }
    return fmt::format("unknown key '{}'{}; the keys are {}", name, where, fmt::join(names, ", "));
}

/// Sets the keys of one file in a scenario.
class Reader {
  public:
    Reader(const std::string& file, Scenario& scenario, RunWish& wish)
        : file_(file), scenario_(scenario), wish_(wish) {}

    Result read(const toml::table& table) {
        for (auto&& [key, node] : table) {
            if (auto taken = take(key, node); !taken) {
                return taken;
            }
        }
        return {};
    }

  private:
    using Take = Result (Reader::*)(const toml::key&, const toml::node&);

    Result take(const toml::key& key, const toml::node& node) {
        if (key == "fabric") {
            return each_of(node, "[fabric]", &Reader::take_fabric);
        }
        if (key == "network") {
            return each_of(node, "[network]", &Reader::take_network);
        }
        if (key == "hosts") {
            return each_of(node, "[hosts]", &Reader::take_hosts);
        }
        if (key == "traffic") {
            return all_of(node, "[[traffic]]", &Reader::take_traffic);
        }
        if (key == "fail") {
            return all_of(node, "[[fail]]", &Reader::take_failure);
        }
        if (key == "whatif") {
            wish_.whatif = true;
            wish_.given.push_back({"whatif", "", place(file_, node.source())});
            return each_of(node, "[whatif]", &Reader::take_whatif);
        }
        if (key == "base" || key == "seeds" || key == "vary") {
            return {};  // The base was read before this file; read_sweep() reads the rest.
        }
        return set(Section::kTop, key, node, fmt::format(" outside of the sections {}", kSections));
    }
    std::unexpected<std::string> refuse(const toml::source_region& where,
                                        const std::string& message) const {
        return std::unexpected(fmt::format("{}: {}", place(file_, where), message));
    }
    Result each_of(const toml::node& node, std::string_view name, Take take_one) {
        const toml::table* const table = node.as_table();
        if (table == nullptr) {
            return refuse(node.source(), fmt::format("write it as a section {}", name));
        }
        for (auto&& [key, value] : *table) {
            if (auto taken = (this->*take_one)(key, value); !taken) {
                return taken;
            }
        }
        return {};
    }
    Result all_of(const toml::node& node, std::string_view name,
                  Result (Reader::*take_one)(const toml::table&)) {
        const toml::array* const all = node.as_array();
        if (const toml::table* const one = node.as_table()) {
            return (this->*take_one)(*one);
        }
        if (all == nullptr || !all->is_homogeneous(toml::node_type::table)) {
            return refuse(node.source(), fmt::format("write each as a section {}", name));
        }
        for (const toml::node& each : *all) {
            if (auto taken = (this->*take_one)(*each.as_table()); !taken) {
                return taken;
            }
        }
        return {};
    }
    std::expected<std::string, std::string> value(const toml::key& key, const toml::node& node) {
        auto text = text_of(node);
        if (!text) {
            return refuse(node.source(),
                          fmt::format("'{}' must be a text, a number, true or false", key.str()));
        }
        return *std::move(text);
    }
    Result set(Section section, const toml::key& key, const toml::node& node,
               const std::string& where) {
        const ScenarioRule* const rule = find_in(scenario_rules(), key.str());
        if (rule == nullptr || rule->key.section != section) {
            return refuse(key.source(), unknown_in(scenario_rules(), section, key.str(), where));
        }
        const auto text = value(key, node);
        if (!text) {
            return std::unexpected(text.error());
        }
        if (auto done = rule->set(scenario_, *text); !done) {
            return refuse(node.source(), fmt::format("'{}' {}", key.str(), done.error()));
        }
        scenario_.given.push_back({std::string(key.str()), *text, place(file_, node.source())});
        return {};
    }
    Result take_network(const toml::key& key, const toml::node& node) {
        return set(Section::kNetwork, key, node, " in [network]");
    }
    Result take_hosts(const toml::key& key, const toml::node& node) {
        return set(Section::kHosts, key, node, " in [hosts]");
    }
    Result take_whatif(const toml::key& key, const toml::node& node) {
        const toml::value<std::int64_t>* const count = node.as_integer();
        if (key != "seeds") {
            return refuse(key.source(),
                          fmt::format("unknown key '{}' in [whatif]; the key is seeds", key.str()));
        }
        if (count == nullptr || count->get() < 1 || count->get() > kDrawsMax) {
            return refuse(node.source(),
                          fmt::format("'seeds' must be a whole number from 1 to {}", kDrawsMax));
        }
        wish_.draws = static_cast<std::uint32_t>(count->get());
        wish_.given.push_back({"whatif.seeds", "", place(file_, node.source())});
        return {};
    }
    Result take_fabric(const toml::key& key, const toml::node& node) {
        auto text = value(key, node);
        if (!text) {
            return std::unexpected(text.error());
        }
        if (key == "dimensions") {
            std::ranges::replace(*text, ',', 'x');
        }
        const KeyRule* const rule = find_rule(key.str());
        const std::string name(rule == nullptr ? key.str() : rule->key.name);
        if (!fabric_keys_.insert(name).second) {
            return refuse(key.source(), fmt::format("'{}' is there twice", name));
        }
        if (auto done = apply_flag(key.str(), *text, scenario_.fabric); !done) {
            // The error begins with the name of a flag, which is replaced by that of the key.
            std::string message = done.error();
            if (const std::string flag = flag_name(key.str()); message.starts_with(flag)) {
                message = fmt::format("'{}'{}", key.str(), message.substr(flag.size()));
            }
            return refuse(node.source(), message);
        }
        scenario_.fabric.origins.insert_or_assign(name, place(file_, node.source()));
        return {};
    }
    Result take_traffic(const toml::table& table) {
        TrafficWish wish{.origin = place(file_, table.source())};
        for (auto&& [key, node] : table) {
            const TrafficRule* const rule = find_in(traffic_rules(), key.str());
            if (rule == nullptr) {
                return refuse(key.source(), unknown_in(traffic_rules(), Section::kTraffic,
                                                       key.str(), " in [[traffic]]"));
            }
            const auto text = value(key, node);
            if (!text) {
                return std::unexpected(text.error());
            }
            if (auto done = rule->set(wish, *text); !done) {
                return refuse(node.source(), fmt::format("'{}' {}", key.str(), done.error()));
            }
            scenario_.given.push_back({std::string(key.str()), *text, place(file_, node.source()),
                                       scenario_.traffics.size()});
        }
        scenario_.traffics.push_back(std::move(wish));
        return {};
    }
    Result take_failure(const toml::table& table) {
        const char* kind = nullptr;
        std::string what;
        std::string at;
        for (auto&& [key, node] : table) {
            const char* const of_key = key == "link"     ? "fail_link"
                                       : key == "switch" ? "fail_switch"
                                       : key == "router" ? "fail_router"
                                       : key == "random" ? "fail_random"
                                                         : nullptr;
            if (of_key == nullptr && key != "at") {
                return refuse(key.source(),
                              fmt::format("unknown key '{}' in [[fail]]; the keys are link, "
                                          "switch, router, random and at",
                                          key.str()));
            }
            const auto text = value(key, node);
            if (!text) {
                return std::unexpected(text.error());
            }
            if (of_key == nullptr) {
                at = "@" + *text;
                continue;
            }
            if (kind != nullptr) {
                return refuse(key.source(),
                              "a [[fail]] has one of link, switch, router and random: write "
                              "another [[fail]] for the second");
            }
            kind = of_key;
            what = *text;
        }
        if (kind == nullptr) {
            return refuse(table.source(), "say what fails: link, switch, router or random");
        }
        const std::string where = place(file_, table.source());
        if (auto added = add_failure(kind, what + at, where, scenario_); !added) {
            return std::unexpected(fmt::format("{}: {}", where, added.error()));
        }
        return {};
    }

    const std::string& file_;
    Scenario& scenario_;
    RunWish& wish_;
    std::set<std::string> fabric_keys_ = {};  ///< Those that [fabric] has had so far.
};

/// Reads the scenario that a file names as its base.
Result take_base(const toml::table& table, const std::string& file,
                 const std::filesystem::path& folder, std::uint32_t depth, Scenario& scenario) {
    constexpr std::uint32_t kDeepest = 16;
    const toml::node* const node = table.get("base");
    if (node == nullptr) {
        return {};
    }
    const std::string where = place(file, node->source());
    const toml::value<std::string>* const name = node->as_string();
    if (name == nullptr || name->get().empty()) {
        return std::unexpected(where + ": 'base' must be the name of a scenario's file");
    }
    if (depth == kDeepest) {
        return std::unexpected(fmt::format(
            "{}: more than {} files, each the base of the one before: none may be its own base",
            where, kDeepest));
    }
    RunWish of_base{.depth = depth + 1};
    if (auto loaded = load_scenario(folder / name->get(), scenario, of_base); !loaded) {
        return loaded;
    }
    if (of_base.sweep || of_base.whatif) {
        return std::unexpected(
            fmt::format("{}: '{}' is {} itself: name a scenario as the base", where, name->get(),
                        described(of_base.sweep ? RunKind::kSweep : RunKind::kWhatIf)));
    }
    return {};
}

/// Makes the paths of a file's own keys relative to its folder.
Result find_files(const std::filesystem::path& folder, std::size_t first_traffic,
                  const std::string& from_before, Scenario& scenario) {
    for (std::size_t i = first_traffic; i < scenario.traffics.size(); ++i) {
        TrafficWish& wish = scenario.traffics[i];
        if (!wish.pairs_file.empty()) {
            wish.pairs_file = folder / wish.pairs_file;
        }
    }
    if (scenario.fabric.from == from_before) {
        return {};
    }
    scenario.fabric.from = folder / scenario.fabric.from;
    return load_netlist(scenario.fabric);
}

}  // namespace

Result parse_scenario(std::string_view text, const std::string& file,
                      const std::filesystem::path& folder, Scenario& scenario, RunWish& wish) {
    const auto table = parse_toml(text, file);
    if (!table) {
        return std::unexpected(table.error());
    }
    if (auto based = take_base(*table, file, folder, wish.depth, scenario); !based) {
        return based;
    }
    if (table->contains("traffic")) {
        forget_traffic(scenario);
    }
    const std::string from = scenario.fabric.from;
    if (auto read = Reader(file, scenario, wish).read(*table); !read) {
        return read;
    }
    if (auto varied = read_sweep(*table, file, folder, wish); !varied) {
        return varied;
    }
    const std::size_t first = table->contains("traffic") ? 0 : scenario.traffics.size();
    return find_files(folder, first, from, scenario);
}

Result load_scenario(const std::string& file, Scenario& scenario, RunWish& wish) {
    const auto text = read_text(file);
    return text ? parse_scenario(*text, file, std::filesystem::path(file).parent_path(), scenario,
                                 wish)
                : std::unexpected(text.error());
}

Result apply_scenario_flag(std::string_view key, const std::string& value, Scenario& scenario) {
    const ScenarioRule* const rule = find_in(scenario_rules(), key);
    if (rule == nullptr) {
        return std::unexpected(fmt::format("unknown key '{}'", key));
    }
    if (auto done = rule->set(scenario, value); !done) {
        return std::unexpected(fmt::format("{} {}", flag_name(key), done.error()));
    }
    scenario.given.push_back({std::string(key), value, flag_name(key)});
    return {};
}

void forget_traffic(Scenario& scenario) {
    scenario.traffics.clear();
    std::erase_if(scenario.given, [](const Scenario::Given& given) {
        return find_in(traffic_rules(), given.key) != nullptr;
    });
}

Result add_traffic(const std::string& text, const KeyTexts& common, const std::string& origin,
                   Scenario& scenario) {
    KeyTexts keys = common;
    const std::string_view whole(text);
    for (std::size_t begin = 0; begin <= whole.size();) {
        const std::size_t end = std::min(whole.find(',', begin), whole.size());
        const std::string_view word = whole.substr(begin, end - begin);
        const std::size_t equals = word.find('=');
        if (begin == 0 && equals == word.npos) {
            keys.emplace_back("pattern", word);
        } else if (equals == word.npos) {
            return std::unexpected(
                fmt::format("--traffic {}: write it as PATTERN,KEY=VALUE,...", text));
        } else {
            keys.emplace_back(word.substr(0, equals), word.substr(equals + 1));
        }
        begin = end + 1;
    }
    TrafficWish wish{.origin = origin};
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto& [key, value] = keys[i];
        const auto own = keys.begin() + static_cast<std::ptrdiff_t>(common.size());
        if (std::find_if(own, keys.end(), [&](const auto& each) { return each.first == key; }) <
            keys.begin() + static_cast<std::ptrdiff_t>(i)) {
            return std::unexpected(fmt::format("--traffic {}: '{}' is there twice", text, key));
        }
        const TrafficRule* const rule = find_in(traffic_rules(), key);
        if (rule == nullptr) {
            return std::unexpected("--traffic: " +
                                   unknown_in(traffic_rules(), Section::kTraffic, key, ""));
        }
        if (auto done = rule->set(wish, value); !done) {
            const std::string name = key == "pattern" ? "--traffic" : flag_name(key);
            return std::unexpected(fmt::format("{} {}", name, done.error()));
        }
        if (i >= common.size()) {
            scenario.given.push_back({key, value, origin, scenario.traffics.size()});
        }
    }
    scenario.traffics.push_back(std::move(wish));
    return {};
}

Result set_traffic_key(std::string_view key, const std::string& value, Scenario& scenario) {
    const TrafficRule* const rule = find_in(traffic_rules(), key);
    if (rule == nullptr) {
        return std::unexpected("is no key of traffic");
    }
    for (TrafficWish& wish : scenario.traffics) {
        if (auto done = rule->set(wish, value); !done) {
            return done;
        }
    }
    return {};
}

Result add_failure(std::string_view key, const std::string& text, const std::string& origin,
                   Scenario& scenario) {
    FailureWish wish{.name = text, .origin = origin};
    const bool by_flag = origin.starts_with("--");  // In a file keys have shorter names.
    if (const std::size_t at = text.rfind('@'); at != text.npos) {
        const auto time = plan::parse_time(text.substr(at + 1));
        if (!time) {
            return std::unexpected(
                by_flag ? fmt::format("{}: the time {}", flag_name(key), time.error())
                        : fmt::format("'at' {}", time.error()));
        }
        wish.name = text.substr(0, at);
        wish.at = *time;
    }
    wish.kind = key == "fail_link"     ? FailureWish::Kind::kLink
                : key == "fail_switch" ? FailureWish::Kind::kSwitch
                : key == "fail_router" ? FailureWish::Kind::kRouter
                                       : FailureWish::Kind::kRandom;
    if (wish.kind == FailureWish::Kind::kRandom) {
        const auto count = plan::parse_count(wish.name);
        if (!count || *count == 0 || *count > UINT32_MAX) {
            return std::unexpected(fmt::format("{} must be a number of cables, not \"{}\"",
                                               by_flag ? flag_name(key) : "'random'", wish.name));
        }
        wish.count = static_cast<std::uint32_t>(*count);
    }
    scenario.given.push_back({std::string(key), text, origin});
    if (wish.at != 0) {
        scenario.given.push_back({"at", "", origin});
    }
    scenario.failures.push_back(std::move(wish));
    return {};
}

}  // namespace softib::spec
