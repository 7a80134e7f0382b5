// SPDX-License-Identifier: BSD-2-Clause
#include "plan/ends.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "core/topo/subnets.h"

namespace softib::plan {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

}  // namespace

Ends::Ends(const topo::Fabric& fabric) {
    for (const topo::Host& host : fabric.hosts) {
        for (std::size_t i = 0; i < host.hcas.size(); ++i) {
            const auto number = static_cast<std::uint32_t>(names_.size());
            const std::string full = fmt::format("{}/{}", host.name, host.device_names[i]);
            if (i == 0) {
                number_.emplace(host.name, number);
            }
            number_.emplace(full, number);
            names_.push_back(host.hcas.size() == 1 ? host.name : full);
        }
    }
}

std::expected<std::uint32_t, std::string> Ends::find(std::string_view name) const {
    const auto found = number_.find(trimmed(name));
    if (found == number_.end()) {
        return std::unexpected(fmt::format("there is no host '{}'; the first is {}, the last {}",
                                           trimmed(name), names_.empty() ? "none" : names_.front(),
                                           names_.empty() ? "none" : names_.back()));
    }
    return found->second;
}

std::expected<std::vector<std::uint32_t>, std::string> Ends::find_list(
    std::string_view list) const {
    std::vector<std::uint32_t> found;
    std::vector<bool> known(count());
    if (trimmed(list) == "all") {
        for (std::uint32_t end = 0; end < count(); ++end) {
            found.push_back(end);
        }
        return found;
    }
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const std::string_view item = trimmed(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
        // A name may itself have a dash; only an unknown name is taken for a range.
        const std::size_t dash = number_.contains(item) ? item.npos : item.find('-');
        const auto first = find(item.substr(0, dash));
        const auto last = dash == item.npos ? first : find(item.substr(dash + 1));
        if (!first || !last) {
            return std::unexpected(first ? last.error() : first.error());
        }
        for (std::uint32_t end = *first; end <= *last; ++end) {
            if (known[end]) {
                return std::unexpected(fmt::format("{} is there twice", name(end)));
            }
            known[end] = true;
            found.push_back(end);
        }
    }
    if (found.empty()) {
        return std::unexpected("names no host: write it as h0-h15,h31 or all");
    }
    return found;
}

std::string name_of(const topo::Fabric& fabric, const net::Hop& hop) {
    const topo::Node& node = fabric.nodes[hop.node];
    if (node.kind == topo::NodeKind::kSwitch) {
        return fmt::format("{}:{}", node.name, hop.port);
    }
    const bool alone = node.host < fabric.hosts.size() && fabric.hosts[node.host].hcas.size() == 1;
    return alone ? fabric.hosts[node.host].name : node.name;
}

std::expected<net::Hop, std::string> find_switch(const topo::Fabric& fabric,
                                                 std::string_view name) {
    const auto node = fabric.find_node(std::string(name));
    if (!node || fabric.node(*node).kind != topo::NodeKind::kSwitch) {
        return std::unexpected(
            fmt::format("there is no switch '{}'; softib topo shows their names", name));
    }
    return net::Hop{node->value, 0};
}

std::expected<std::vector<net::Hop>, std::string> find_router(const topo::Fabric& fabric,
                                                              std::string_view name) {
    std::vector<net::Hop> found;
    for (const std::vector<topo::NodeIndex>& legs : topo::find_routers(fabric)) {
        for (const topo::NodeIndex leg : legs) {
            if (topo::router_name(fabric.node(leg)) == name) {
                found.push_back({leg.value, 0});
            }
        }
    }
    if (found.empty()) {
        return std::unexpected(fmt::format(
            "there is no router '{}': --subnets and --routers make router0, router1 and so on",
            name));
    }
    return found;
}

std::string name_of_node(const topo::Fabric& fabric, std::uint32_t node) {
    const topo::Node& named = fabric.nodes[node];
    return named.kind == topo::NodeKind::kRouter ? topo::router_name(named) : named.name;
}

std::expected<net::Hop, std::string> find_port(const topo::Fabric& fabric, std::string_view name) {
    std::optional<topo::NodeIndex> node;
    std::uint32_t port = 0;
    if (const auto host = fabric.find_host(std::string(name))) {
        node = fabric.hosts[*host].hcas.front();
        port = 1;
    } else if (node = fabric.find_node(std::string(name)); node) {
        port = fabric.node(*node).kind == topo::NodeKind::kSwitch ? 0 : 1;
    } else {
        const std::size_t colon = std::min(name.rfind(':'), name.size());
        const std::string_view number = name.substr(std::min(colon + 1, name.size()));
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), port);
        if (error == std::errc{} && end == number.data() + number.size()) {
            node = fabric.find_node(std::string(name.substr(0, colon)));
        }
    }
    if (!node || port == 0 || port >= fabric.node(*node).ports.size()) {
        return std::unexpected(fmt::format(
            "there is no port '{}': write SWITCH:PORT or HOST; softib topo shows them", name));
    }
    if (fabric.node(*node).ports[port].peer == topo::kNoNode) {
        return std::unexpected(fmt::format("there is no cable at {}", name));
    }
    return net::Hop{node->value, static_cast<std::uint8_t>(port)};
}

}  // namespace softib::plan
