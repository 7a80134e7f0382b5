// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"

namespace softib::routing {

namespace {

constexpr std::size_t kPorts = 256;

}  // namespace

Lfts::Lfts(std::uint32_t switches, Lid lid_max)
    : stride_((lid_max.value / kLftBlock + std::size_t{1}) * kLftBlock),
      ports_(switches * stride_, kNoPath) {}

void fill_local(const Graph& graph, std::uint32_t sw, Lfts& lfts) {
    for (const Lid lid : graph.lids(sw)) {
        lfts.at(sw, lid) = graph.targets()[graph.target_of(lid)].port;
    }
}

SlMap SlMap::by_destination(std::vector<std::uint8_t> sls) {
    SlMap map;
    map.sls_ = std::move(sls);
    return map;
}

SlMap SlMap::by_pair(std::uint32_t switches) {
    SlMap map;
    map.stride_ = switches;
    map.sls_.assign(std::size_t{switches} * switches, 0);
    return map;
}

void SlMap::set(std::uint32_t from, std::uint32_t to, std::uint8_t sl, std::uint32_t switches) {
    if (!pairwise()) {
        if (at(from, to) == sl) {
            return;
        }
        SlMap map = by_pair(switches);
        for (std::uint32_t a = 0; a < switches && !uniform(); ++a) {
            for (std::uint32_t b = 0; b < switches; ++b) {
                map.sls_[std::size_t{a} * switches + b] = at(a, b);
            }
        }
        *this = std::move(map);
    }
    sls_[from * stride_ + to] = sl;
}

SlToVl::SlToVl(std::uint32_t switches, std::uint8_t in_classes, std::uint8_t out_classes)
    : out_classes_(out_classes),
      in_class_(switches * kPorts),
      out_class_(switches * kPorts),
      rows_(std::size_t{in_classes} * out_classes) {}

SlToVl::SlToVl(std::vector<Row> rows, std::vector<PortTables> tables,
               std::vector<std::uint32_t> tables_of)
    : rows_(std::move(rows)), tables_(std::move(tables)), tables_of_(std::move(tables_of)) {}

void SlToVl::set_in_class(std::uint32_t sw, std::uint8_t port, std::uint8_t in_class) {
    in_class_[sw * kPorts + port] = in_class;
}

void SlToVl::set_out_class(std::uint32_t sw, std::uint8_t port, std::uint8_t out_class) {
    SOFTIB_CHECK(out_class < out_classes_);
    out_class_[sw * kPorts + port] = out_class;
}

void SlToVl::set_row(std::uint8_t in_class, std::uint8_t out_class, const Row& row) {
    rows_[std::size_t{in_class} * out_classes_ + out_class] = row;
}

const SlToVl::Row& SlToVl::row(std::uint32_t sw, std::uint8_t in_port,
                               std::uint8_t out_port) const {
    if (!tables_.empty()) {
        const PortTables& tables = tables_[tables_of_[sw]];
        return rows_[tables.row_of[std::size_t{in_port} * tables.ports + out_port]];
    }
    return rows_[std::size_t{in_class_[sw * kPorts + in_port]} * out_classes_ +
                 out_class_[sw * kPorts + out_port]];
}

bool SlToVl::same_in(std::uint32_t sw, std::uint8_t a, std::uint8_t b) const {
    if (tables_.empty()) {
        return rows_.empty() || in_class_[sw * kPorts + a] == in_class_[sw * kPorts + b];
    }
    const PortTables& tables = tables_[tables_of_[sw]];
    const std::span<const std::uint16_t> row_of(tables.row_of);
    return std::ranges::equal(row_of.subspan(std::size_t{a} * tables.ports, tables.ports),
                              row_of.subspan(std::size_t{b} * tables.ports, tables.ports));
}

std::uint8_t SlToVl::highest(std::uint8_t sl) const {
    std::uint8_t result = 0;
    for (const Row& row : rows_) {
        result = std::max(result, row[sl]);
    }
    return result;
}

PortGroups::PortGroups(std::vector<std::uint32_t> first_group,
                       std::vector<std::uint32_t> first_port, std::vector<std::uint8_t> ports,
                       std::vector<std::uint16_t> group_of)
    : first_group_(std::move(first_group)),
      first_port_(std::move(first_port)),
      ports_(std::move(ports)),
      group_of_(std::move(group_of)) {}

PortGroups make_port_groups(
    std::uint32_t switches,
    const std::function<std::vector<std::uint8_t>(std::uint32_t, std::uint32_t)>& ports_to) {
    using Bits = std::array<std::uint64_t, 4>;  // One bit per port.
    std::vector<std::uint32_t> first_group{0};
    std::vector<std::uint32_t> first_port{0};
    std::vector<std::uint8_t> ports;
    std::vector<std::uint16_t> group_of(std::size_t{switches} * switches);
    for (std::uint32_t sw = 0; sw < switches; ++sw) {
        std::map<Bits, std::uint16_t> known;
        known[Bits{}] = 0;
        first_port.push_back(first_port.back());
        for (std::uint32_t to = 0; to < switches; ++to) {
            const std::vector<std::uint8_t> set = ports_to(sw, to);
            Bits bits{};
            for (const std::uint8_t port : set) {
                bits[port / 64] |= std::uint64_t{1} << port % 64;
            }
            const auto [at, fresh] = known.emplace(bits, static_cast<std::uint16_t>(known.size()));
            if (fresh) {
                ports.insert(ports.end(), set.begin(), set.end());
                first_port.push_back(static_cast<std::uint32_t>(ports.size()));
            }
            group_of[std::size_t{sw} * switches + to] = at->second;
        }
        first_group.push_back(static_cast<std::uint32_t>(first_port.size() - 1));
    }
    return PortGroups(std::move(first_group), std::move(first_port), std::move(ports),
                      std::move(group_of));
}

Choice Tables::choice(std::uint32_t sw, std::uint8_t in_port, std::uint32_t destination) const {
    const auto ports = [&](const PortGroups& sets) {
        return sets.ports(sw, sets.of(sw, destination));
    };
    const Origin origin = long_ways.empty() ? Origin::kAny : long_ways.origin(sw, in_port);
    Choice choice{.near = ports(groups), .far = {}};
    if (origin == Origin::kHost) {
        choice.far = ports(long_ways.beside);
    } else if (origin == Origin::kNear && !ports(long_ways.instead).empty()) {
        choice.near = ports(long_ways.instead);
    }
    return choice;
}

std::uint8_t Tables::sl(const Graph& graph, Lid source, Lid destination) const {
    const std::uint32_t from = graph.target_of(source);
    const std::uint32_t to = graph.target_of(destination);
    if (from == kNone || to == kNone) {
        return 0;
    }
    return sls.at(graph.targets()[from].at, graph.targets()[to].at);
}

}  // namespace softib::routing
