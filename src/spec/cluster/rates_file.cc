// SPDX-License-Identifier: BSD-2-Clause
#include "spec/cluster/rates_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/nearest.h"
#include "spec/scenario/toml_file.h"
#include "spec/value.h"

namespace softib::spec {

namespace {

using plan::Rates;

/// A key that is a number, with its limits; the least is excluded where it is 0.
struct RateKey {
    std::string_view name;
    double Rates::* field;
    double least;
    double most;
};
constexpr RateKey kRateKeys[] = {
    {"watts_per_sm", &Rates::watts_per_sm, 0.1, 1000},
    {"result", &Rates::result, 0, 1},
    {"small_tile", &Rates::small_tile, 0.01, 1},
    {"start_us", &Rates::start_us, 0, 1e6},
    {"flash", &Rates::flash, 0.001, 1},
    {"flash_backward", &Rates::flash_backward, 0.001, 1},
    {"flash_fp8", &Rates::flash_fp8, 0, 2},
    {"flash_fp8_backward", &Rates::flash_fp8_backward, 0, 2},
    {"flash_narrow", &Rates::flash_narrow, 0.001, 1},
    {"flash_tokens", &Rates::flash_tokens, 0, 1e6},
    {"memory", &Rates::memory, 0.001, 1},
    {"in_steps", &Rates::in_steps, 0.001, 1},
    {"expert_exchange", &Rates::expert_exchange, 0.001, 1},
    {"host_us", &Rates::host_us, 0, 1e6},
    {"step_ms", &Rates::step_ms, 0, 1e6},
    {"spread", &Rates::spread, 0, 1},
};

using PerRecipe = std::array<double, plan::kRecipes.size()>;
/// A section with a number for each recipe.
struct RatesSection {
    std::string_view name;
    PerRecipe Rates::* field;
    double most;
};
constexpr RatesSection kRatesSections[] = {
    {"matmul", &Rates::matmul, 1},
    {"convert_bytes", &Rates::convert_bytes, 1000},
    {"convert_kernels", &Rates::convert_kernels, 1000},
};

/// Reads one file.
class RatesReader {
  public:
    explicit RatesReader(const std::string& file) : file_(file) {}

    std::expected<Rates, std::string> read(const toml::table& table) {
        if (const toml::node* const base = table.get("base")) {
            if (auto taken = take_base(*base); !taken) {
                return std::unexpected(taken.error());
            }
        }
        rates_.name = file_;
        for (auto&& [key, node] : table) {
            if (auto taken = take(key, node); !taken) {
                return std::unexpected(taken.error());
            }
        }
        for (const RateKey& each : kRateKeys) {
            if (each.least > 0 && rates_.*each.field == 0) {
                return std::unexpected(
                    fmt::format("{}: say {} = NUMBER, or base = \"hopper\"", file_, each.name));
            }
        }
        return std::move(rates_);
    }

  private:
    std::unexpected<std::string> refuse(const toml::source_region& where,
                                        const std::string& message) const {
        return std::unexpected(fmt::format("{}: {}", place(file_, where), message));
    }

    Result take_base(const toml::node& node) {
        std::vector<std::string_view> names;
        const auto name = text_of(node);
        for (const Rates& each : plan::rates_presets()) {
            names.push_back(each.name);
            if (name == each.name) {
                rates_ = each;
                rates_.source = fmt::format("{}, from {}", file_, each.name);
                return {};
            }
        }
        return refuse(node.source(), unknown_name("base", name.value_or(""), names));
    }

    Result take(const toml::key& key, const toml::node& node) {
        if (key == "base") {
            return {};
        }
        if (key == "name" || key == "source") {
            const auto text = text_of(node);
            (key == "name" ? rates_.name : rates_.source) = text.value_or("");
            return text
                       ? Result{}
                       : Result(refuse(node.source(), fmt::format("{} must be a text", key.str())));
        }
        if (key == "compute_capability") {
            double capability = 0;
            auto taken = take_number(capability, key, node, 1, 1000);
            rates_.compute_capability = static_cast<std::uint32_t>(capability);
            return taken;
        }
        for (const RatesSection& each : kRatesSections) {
            if (key == each.name) {
                return take_section(each, node);
            }
        }
        for (const RateKey& each : kRateKeys) {
            if (key == each.name) {
                return take_number(rates_.*each.field, key, node, each.least, each.most);
            }
        }
        std::vector<std::string_view> names{"base", "name", "source", "compute_capability"};
        std::ranges::transform(kRateKeys, std::back_inserter(names), &RateKey::name);
        std::ranges::transform(kRatesSections, std::back_inserter(names), &RatesSection::name);
        return refuse(key.source(), unknown_name("key", key.str(), names));
    }

    Result take_section(const RatesSection& section, const toml::node& node) {
        const toml::table* const table = node.as_table();
        if (table == nullptr) {
            return refuse(node.source(),
                          fmt::format("{} must be a section with a number for each recipe, as "
                                      "[{}]",
                                      section.name, section.name));
        }
        for (auto&& [name, value] : *table) {
            const auto recipe = plan::parse_recipe(name.str());
            if (!recipe) {
                return refuse(name.source(), fmt::format("'{}' is no recipe; there are {}",
                                                         name.str(), plan::recipe_names()));
            }
            double& field = (rates_.*section.field)[static_cast<std::size_t>(*recipe)];
            if (auto taken = take_number(field, name, value, 0, section.most); !taken) {
                return taken;
            }
        }
        return {};
    }

    Result take_number(double& field, const toml::key& key, const toml::node& node, double least,
                       double most) const {
        const auto number = node.value<double>();
        if (!number || node.is_boolean() || !(*number >= least && *number <= most)) {
            return refuse(node.source(), fmt::format("'{}' must be a number from {} to {}",
                                                     key.str(), least, most));
        }
        field = *number;
        return {};
    }

    const std::string& file_;
    Rates rates_ = {};
};

}  // namespace

std::expected<plan::Rates, std::string> parse_rates(std::string_view text,
                                                    const std::string& file) {
    const auto table = parse_toml(text, file);
    return table ? RatesReader(file).read(*table) : std::unexpected(table.error());
}

std::expected<plan::Rates, std::string> load_rates(const std::string& file) {
    const auto text = read_text(file);
    return text ? parse_rates(*text, file) : std::unexpected(text.error());
}

}  // namespace softib::spec
