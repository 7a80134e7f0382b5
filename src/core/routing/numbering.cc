// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/numbering.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace softib::routing {

Numbering::Numbering(const Graph& graph, std::span<const std::uint32_t> order)
    : begin_(graph.switch_count()), count_(graph.switch_count()), own_begin_{0} {
    const auto entry = [&](std::uint32_t index) {
        const Target& target = graph.targets()[index];
        return Entry{target.lid.value, static_cast<std::uint8_t>(target.lid_count())};
    };
    for (const std::uint32_t sw : order) {
        begin_[sw] = static_cast<std::uint32_t>(hosts_.size());
        for (const std::uint32_t index : graph.targets(sw)) {
            if (!graph.targets()[index].is_switch()) {
                hosts_.push_back(entry(index));
                ++count_[sw];
            }
        }
    }
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        for (const std::uint32_t index : graph.targets(sw)) {
            if (graph.targets()[index].is_switch()) {
                own_.push_back(entry(index));
            }
        }
        own_begin_.push_back(static_cast<std::uint32_t>(own_.size()));
    }
}

std::vector<std::uint32_t> order_by_hosts(const Graph& graph) {
    std::vector<std::uint32_t> order(graph.switch_count());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t sw) {
        const bool has_hosts = graph.host_count(sw) != 0;
        const std::uint32_t first = has_hosts ? graph.targets()[graph.targets(sw)[0]].order : 0;
        return std::tuple(!has_hosts, first, sw);
    });
    return order;
}

}  // namespace softib::routing
