// SPDX-License-Identifier: BSD-2-Clause
#include "spec/cluster/cluster_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/nearest.h"
#include "plan/cluster/presets.h"
#include "spec/description.h"
#include "spec/key_rule.h"
#include "spec/scenario/toml_file.h"
#include "spec/text_file.h"

namespace softib::spec {

namespace {

using plan::Cluster;

/// A key of a cluster that is a number, with its limits.
struct NumberKey {
    std::string_view section;  ///< Section of the key; empty: above all sections.
    std::string_view name;
    double least;
    double most;
    bool whole;
    void (*set)(Cluster&, double);
};

template <plan::Precision kPrecision>
void set_peak(Cluster& cluster, double tera) {
    cluster.gpu.peak_flops[static_cast<std::size_t>(kPrecision)] = tera * 1e12;
}

std::uint32_t count_of(double value) {
    return static_cast<std::uint32_t>(value);
}

const std::vector<NumberKey>& number_keys() {
    using plan::Precision;
    static const std::vector<NumberKey> keys{
        {"", "nodes", 1, 65'536, true,
         [](Cluster& c, double v) { c = plan::with_nodes(std::move(c), count_of(v)); }},
        {"", "gpus_per_node", 1, 256, true,
         [](Cluster& c, double v) { c.gpus_per_node = count_of(v); }},
        {"", "nics_per_node", 1, 64, true,
         [](Cluster& c, double v) { c.fabric.spec.hcas_per_host = count_of(v); }},
        {"", "node_power_w", 0, 1e6, false, [](Cluster& c, double v) { c.node_power_w = v; }},
        {"gpu_rates", "fp32", 0, 1e6, false, set_peak<Precision::kFp32>},
        {"gpu_rates", "tf32", 0, 1e6, false, set_peak<Precision::kTf32>},
        {"gpu_rates", "fp16", 0, 1e6, false, set_peak<Precision::kFp16>},
        {"gpu_rates", "bf16", 0, 1e6, false, set_peak<Precision::kBf16>},
        {"gpu_rates", "fp8", 0, 1e6, false, set_peak<Precision::kFp8>},
        {"gpu_rates", "fp4", 0, 1e6, false, set_peak<Precision::kFp4>},
        {"gpu_rates", "memory_gib", 1, 1e6, false,
         [](Cluster& c, double v) {
             c.gpu.memory_bytes = static_cast<std::uint64_t>(std::llround(v * (1U << 30)));
         }},
        {"gpu_rates", "memory_gbs", 1, 1e6, false,
         [](Cluster& c, double v) { c.gpu.memory_bytes_per_s = v * 1e9; }},
        {"gpu_rates", "sms", 1, 10'000, true,
         [](Cluster& c, double v) { c.gpu.sms = count_of(v); }},
        {"gpu_rates", "power_w", 0, 1e5, false,
         [](Cluster& c, double v) {
             c.gpu.power_w = v;
             c.node_power_w = 0;  // That of the preset's node had other GPUs in it.
         }},
        {"nvlink", "domain_gpus", 1, 1024, true,
         [](Cluster& c, double v) { c.nvlink.domain_gpus = count_of(v); }},
        {"nvlink", "gbs", 0, 1e5, false,
         [](Cluster& c, double v) {
             c.nvlink.bytes_per_s = v * 1e9;
             c.nvlink.links = 0;
         }},
        {"nvlink", "latency_us", 0, 1e3, false,
         [](Cluster& c, double v) { c.nvlink.latency_us = v; }},
        {"nvlink", "nvls", 0, 1, true, [](Cluster& c, double v) { c.nvlink.nvls = v != 0; }},
        {"pcie", "gbs", 0.1, 1e5, false,
         [](Cluster& c, double v) { c.pcie.bytes_per_s = v * 1e9; }},
        {"pcie", "latency_us", 0, 1e3, false, [](Cluster& c, double v) { c.pcie.latency_us = v; }},
        {"fabric", "adaptive", 0, 1, true,
         [](Cluster& c, double v) { c.fabric.adaptive = v != 0; }},
        {"fabric", "sharp", 0, 1, true, [](Cluster& c, double v) { c.fabric.sharp = v != 0; }},
        {"fabric", "mtu", 256, 4096, true,
         [](Cluster& c, double v) { c.fabric.mtu = static_cast<std::uint16_t>(v); }},
        {"fabric", "planes", 1, 64, true,
         [](Cluster& c, double v) { c = plan::with_planes(std::move(c), count_of(v)); }},
        {"fabric", "failed_planes", 0, 63, true,
         [](Cluster& c, double v) { c.fabric.failed_planes = count_of(v); }},
        {"fabric", "cable_m", 0, 1e5, false, [](Cluster& c, double v) { c.fabric.cable_m = v; }},
    };
    return keys;
}

constexpr std::pair<std::string_view, std::string Cluster::*> kTextKeys[] = {
    {"name", &Cluster::name}, {"title", &Cluster::title}, {"source", &Cluster::source}};

constexpr std::array<std::string_view, 4> kSectionNames{"gpu_rates", "nvlink", "pcie", "fabric"};

class ClusterReader {
  public:
    explicit ClusterReader(const std::string& file) : file_(file) {}

    std::expected<Cluster, std::string> read(const toml::table& table) {
        cluster_ = *plan::find_preset("hgx-h200:2");
        cluster_.name = file_;
        cluster_.title = "described in " + file_;
        cluster_.source = file_;
        return change(table);
    }
    /// Reads keys of a cluster that there is.
    std::expected<Cluster, std::string> read(const toml::table& table, Cluster cluster) {
        cluster_ = std::move(cluster);
        return change(table);
    }

  private:
    std::expected<Cluster, std::string> change(const toml::table& table) {
        // Base and GPU are set first, because the other keys change them.
        for (const std::string_view first : {"base", "gpu", ""}) {
            for (auto&& [key, node] : table) {
                const bool now = first.empty() ? key != "base" && key != "gpu" : key == first;
                if (!now) {
                    continue;
                }
                if (auto taken = take(key, node); !taken) {
                    return std::unexpected(taken.error());
                }
            }
        }
        if (const auto fault = plan::find_fault(cluster_)) {
            return std::unexpected(fmt::format("{}: {}", file_, *fault));
        }
        if (!of_nvlink_.empty() && cluster_.nvlink.domain_gpus == 1) {
            return std::unexpected(of_nvlink_ +
                                   " changes nothing: a domain of one GPU has no NVLink");
        }
        return cluster_;
    }

    std::unexpected<std::string> refuse(const toml::source_region& where,
                                        const std::string& message) {
        return std::unexpected(fmt::format("{}: {}", place(file_, where), message));
    }
    Result take(const toml::key& key, const toml::node& node) {
        const toml::table* const section = node.as_table();
        if (section != nullptr) {
            if (std::ranges::find(kSectionNames, key.str()) == kSectionNames.end()) {
                return refuse(key.source(), unknown_name("section", key.str(), kSectionNames));
            }
            for (auto&& [inner, value] : *section) {
                if (key == "nvlink" && inner != "domain_gpus") {
                    of_nvlink_ = fmt::format("{}: '{}'", place(file_, value.source()), inner.str());
                }
                if (auto taken = take_value(key.str(), inner, value); !taken) {
                    return taken;
                }
            }
            return {};
        }
        return take_value("", key, node);
    }
    Result take_value(std::string_view section, const toml::key& key, const toml::node& node) {
        const auto text = text_of(node);
        if (!text) {
            return refuse(node.source(),
                          fmt::format("'{}' must be a text, a number, true or false", key.str()));
        }
        for (const auto& [name, field] : kTextKeys) {
            if (section.empty() && key == name) {
                if (!node.is_string()) {
                    return refuse(node.source(), fmt::format("'{}' must be a text", name));
                }
                cluster_.*field = *text;
                return {};
            }
        }
        if (section.empty() && key == "base") {
            auto base = plan::find_preset(*text);
            if (!base) {
                return refuse(node.source(), base.error());
            }
            cluster_ = *std::move(base);
            cluster_.title += ", changed in " + file_;
            return {};
        }
        if (section.empty() && key == "gpu") {
            return take_gpu(node, *text);
        }
        for (const NumberKey& each : number_keys()) {
            if (each.section == section && each.name == key.str()) {
                return take_number(each, node);
            }
        }
        if (section == "fabric") {
            return take_fabric(key, node, *text);
        }
        std::vector<std::string_view> names;
        for (const NumberKey& each : number_keys()) {
            if (each.section == section) {
                names.push_back(each.name);
            }
        }
        if (section.empty()) {
            names.insert(names.end(), {"name", "title", "source", "base", "gpu"});
            names.insert(names.end(), kSectionNames.begin(), kSectionNames.end());
        }
        return refuse(key.source(), unknown_name("key", key.str(), names));
    }
    Result take_gpu(const toml::node& node, const std::string& name) {
        const auto gpu = plan::find_gpu(name);
        if (!gpu) {
            return refuse(node.source(), gpu.error());
        }
        const std::uint32_t domain = cluster_.nvlink.domain_gpus;
        cluster_.gpu = *gpu;
        cluster_.nvlink = plan::sold(*gpu).nvlink;
        cluster_.nvlink.domain_gpus = domain;
        cluster_.pcie = plan::sold(*gpu).pcie;
        return {};
    }
    Result take_number(const NumberKey& key, const toml::node& node) {
        std::optional<double> value;
        if (key.most == 1 && key.whole) {
            const auto on = node.value_exact<bool>();
            value = on ? std::optional(*on ? 1.0 : 0.0) : std::nullopt;
        } else if (node.is_number()) {
            value = node.value<double>();
        }
        const bool fits = value && *value >= key.least && *value <= key.most &&
                          (!key.whole || *value == std::floor(*value));
        if (!fits) {
            return refuse(
                node.source(),
                key.most == 1 && key.whole
                    ? fmt::format("'{}' must be true or false", key.name)
                    : fmt::format("'{}' must be a {} from {} to {}", key.name,
                                  key.whole ? "whole number" : "number", key.least, key.most));
        }
        if (key.name == "mtu" && std::popcount(static_cast<std::uint64_t>(*value)) != 1) {
            return refuse(node.source(), "'mtu' must be 256, 512, 1024, 2048 or 4096");
        }
        key.set(cluster_, *value);
        return {};
    }
    /// Refuses a key of a fabric that changes nothing in a plan.
    Result check_fabric_key(const toml::key& key) {
        if (key == "hosts" || key == "hcas") {
            return refuse(key.source(),
                          fmt::format("write '{}' above all sections, for '{}' here",
                                      key == "hosts" ? "nodes" : "nics_per_node", key.str()));
        }
        std::vector<std::string_view> names{"adaptive",   "cable_m", "engine", "failed_planes",
                                            "link_layer", "mtu",     "planes", "sharp"};
        for (const KeyRule& rule : shape_keys()) {
            const std::string_view name = rule.key.name;
            if (name != "hosts" && !name.ends_with("_pattern") && name != "hcas" &&
                name != "planes") {
                names.push_back(name);
            }
        }
        std::string name(key.str());
        std::ranges::replace(name, '-', '_');
        if (std::ranges::find(names, name) != names.end()) {
            return {};
        }
        return refuse(key.source(), find_rule(name) == nullptr
                                        ? unknown_name("key", key.str(), names)
                                        : fmt::format("'{}' changes nothing in a plan; what does "
                                                      "is {}",
                                                      key.str(), fmt::join(names, ", ")));
    }
    Result take_fabric(const toml::key& key, const toml::node& node, std::string text) {
        plan::ClusterFabric& fabric = cluster_.fabric;
        if (key == "link_layer") {
            if (text != "infiniband" && text != "roce") {
                return refuse(node.source(), "'link_layer' must be infiniband or roce");
            }
            fabric.link_layer =
                text == "roce" ? plan::LinkLayer::kRoce : plan::LinkLayer::kInfiniBand;
            // What the preset's switches do, Ethernet's do not.
            fabric.sharp = fabric.sharp && text != "roce";
            return {};
        }
        if (auto acts = check_fabric_key(key); !acts) {
            return acts;
        }
        std::string name(key.str());
        std::ranges::replace(name, '-', '_');
        if (!fabric_keys_.insert(name).second) {
            return refuse(key.source(), fmt::format("'{}' is there twice", name));
        }
        if (key == "dimensions") {
            std::ranges::replace(text, ',', 'x');
        }
        Description description;
        description.spec = fabric.spec;
        description.engine = fabric.engine;
        if (auto done = apply_flag(key.str(), text, description); !done) {
            std::string message = done.error();
            if (const std::string flag = flag_name(key.str()); message.starts_with(flag)) {
                message = fmt::format("'{}'{}", key.str(), message.substr(flag.size()));
            }
            return refuse(node.source(), message);
        }
        fabric.spec = description.spec;
        fabric.engine = description.engine;
        return {};
    }

    const std::string& file_;
    Cluster cluster_;
    std::set<std::string> fabric_keys_;  ///< Those of a description that were taken.
    std::string of_nvlink_;              ///< A key that is about NVLink, with its place.
};

}  // namespace

std::expected<Cluster, std::string> parse_cluster(std::string_view text, const std::string& file) {
    const auto table = parse_toml(text, file);
    return table ? ClusterReader(file).read(*table) : std::unexpected(table.error());
}

namespace {

/// Returns all keys of clusters with their sections.
std::vector<std::string> cluster_keys() {
    std::vector<std::string> keys{"gpu"};
    for (const NumberKey& each : number_keys()) {
        keys.push_back(
            fmt::format("{}{}{}", each.section, each.section.empty() ? "" : ".", each.name));
    }
    for (const char* const each : {"engine", "link_layer"}) {
        keys.push_back(fmt::format("fabric.{}", each));
    }
    for (const KeyRule& rule : shape_keys()) {
        if (rule.key.name != "hosts" && rule.key.name != "hcas" &&
            !rule.key.name.ends_with("_pattern")) {
            keys.push_back(fmt::format("fabric.{}", rule.key.name));
        }
    }
    return keys;
}

/// Returns a value as TOML has it: a number, true, false, or a text in quotes.
std::string toml_value(const std::string& key, const std::string& value) {
    const bool is_text =
        key == "gpu" ||
        (key.starts_with("fabric.") && std::ranges::none_of(number_keys(), [&](const auto& each) {
             return key == "fabric." + std::string(each.name);
         }));
    return is_text ? fmt::format("'{}'", value) : value;
}

}  // namespace

std::expected<std::string, std::string> find_cluster_key(const std::string& name,
                                                         std::vector<std::string_view> others) {
    const std::vector<std::string> keys = cluster_keys();
    std::string wanted = name;
    std::ranges::replace(wanted, '-', '_');
    for (const std::string& key : keys) {
        if (key == wanted || key.ends_with("." + wanted)) {
            return key;
        }
    }
    for (const std::string_view key : keys) {
        others.push_back(key.substr(key.find('.') + 1));
    }
    return std::unexpected(unknown_name("key", name, others));
}

std::expected<Cluster, std::string> change_cluster(Cluster cluster, const std::string& key,
                                                   const std::string& value) {
    const std::size_t dot = key.find('.');
    const std::string section = dot == key.npos ? "" : fmt::format("[{}]\n", key.substr(0, dot));
    const std::string text =
        fmt::format("{}{} = {}\n", section, dot == key.npos ? key : key.substr(dot + 1),
                    toml_value(key, value));
    // Errors begin with a place in this text, which the user has not seen.
    const std::string file = "a value";
    const auto without_place = [](const std::string& error) {
        const std::size_t end = error.find(": ");
        return end == error.npos ? error : error.substr(end + 2);
    };
    const auto table = parse_toml(text, file);
    if (!table) {
        return std::unexpected(fmt::format("'{}' cannot be '{}'", key, value));
    }
    auto changed = ClusterReader(file).read(*table, std::move(cluster));
    return changed ? std::move(changed) : std::unexpected(without_place(changed.error()));
}

std::expected<Cluster, std::string> find_cluster(const std::string& name) {
    if (is_description(name)) {
        return parse_cluster(name, "a cluster given as text");
    }
    if (!name.ends_with(".toml") && name.find('/') == name.npos) {
        return plan::find_preset(name);
    }
    const auto text = read_text(name);
    return text ? parse_cluster(*text, name) : std::unexpected(text.error());
}

std::expected<Cluster, std::string> find_cluster(const std::string& name, std::uint32_t nodes,
                                                 std::uint32_t planes) {
    auto cluster = find_cluster(name);
    if (cluster && planes != 0) {
        cluster = plan::with_planes(*std::move(cluster), planes);
        if (const auto fault = plan::find_fault(*cluster)) {
            return std::unexpected("--planes: " + *fault);
        }
    }
    if (!cluster || nodes == 0) {
        return cluster;
    }
    const bool sized = name.find_first_of(":/\n") != name.npos || name.ends_with(".toml");
    if (sized && nodes > cluster->nodes()) {
        return std::unexpected(fmt::format("--nodes: there are only {} nodes in {}, not {}",
                                           cluster->nodes(),
                                           is_description(name) ? cluster->name : name, nodes));
    }
    return plan::with_nodes(*std::move(cluster), nodes);
}

std::expected<plan::Prices, std::string> parse_prices(std::string_view text,
                                                      const std::string& file) {
    const auto table = parse_toml(text, file);
    if (!table) {
        return std::unexpected(table.error());
    }
    plan::Prices prices = plan::default_prices();
    std::vector<std::string_view> names;
    for (const plan::Price& price : prices) {
        names.emplace_back(price.name);
    }
    for (auto&& [key, node] : *table) {
        const auto refuse = [&](const toml::source_region& where, const std::string& message) {
            return std::unexpected(fmt::format("{}: {}", place(file, where), message));
        };
        const auto found = std::ranges::find(prices, key.str(), &plan::Price::name);
        if (found == prices.end()) {
            return refuse(key.source(), unknown_name("price", key.str(), names));
        }
        const toml::array* const range = node.as_array();
        const std::size_t size = range == nullptr ? 0 : range->size();
        const auto low = size == 2 || size == 3 ? range->at(0).value<double>() : std::nullopt;
        const auto high = low ? range->at(1).value<double>() : std::nullopt;
        const auto source = size == 3 ? range->at(2).value<std::string>() : file;
        const bool ordered = low && high && *low >= 0 && *low <= *high && std::isfinite(*high);
        if (!ordered || !source) {
            return refuse(node.source(),
                          fmt::format("'{}' must be a range of two numbers and, if you want, where "
                                      "they are from: [LOW, HIGH, \"source\"]",
                                      key.str()));
        }
        found->low = *low;
        found->high = *high;
        found->source = *source;
    }
    for (const std::string_view all : {"gpu", "nic", "switch_port"}) {
        for (plan::Price& price : prices) {
            const bool of_kind = price.name.starts_with(fmt::format("{}_", all)) &&
                                 !price.name.ends_with("_w") && price.name != "gpu_hour";
            if (of_kind && table->contains(all) && !table->contains(price.name)) {
                price.low = price.high = 0;
            }
        }
    }
    return prices;
}

std::expected<plan::Prices, std::string> load_prices(const std::string& file) {
    const auto text = read_text(file);
    return text ? parse_prices(*text, file) : std::unexpected(text.error());
}

}  // namespace softib::spec
