// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/routes.h"

#include <algorithm>
#include <map>
#include <vector>

namespace softib::daemon {

namespace {

using routing::SlMap;
using routing::SlToVl;

constexpr std::size_t kRowsMax = UINT16_MAX;

/// Collects things and numbers them: equal things have the same number.
template <typename T>
class Numbered {
  public:
    explicit Numbered(std::vector<T>& all) : all_(all) {}
    std::uint32_t operator()(const T& thing) {
        const auto [at, fresh] =
            numbers_.try_emplace(thing, static_cast<std::uint32_t>(all_.size()));
        if (fresh) {
            all_.push_back(thing);
        }
        return at->second;
    }

  private:
    std::vector<T>& all_;
    std::map<T, std::uint32_t> numbers_;
};

class LaneCollector {
  public:
    explicit LaneCollector(shm::RouteFile& file) : file_(file), number_(file.rows) {}

    void add(const agent::Node& node) {
        const auto ports = static_cast<std::uint32_t>(node.port_count() + 1);
        SlToVl::PortTables tables{ports, std::vector<std::uint16_t>(std::size_t{ports} * ports)};
        for (std::uint32_t out = 0; out < ports; ++out) {
            const auto lanes = node.lanes(static_cast<std::uint8_t>(out));
            std::uint16_t row = lanes.empty() ? at_power_up(node) : std::uint16_t{0};
            for (std::uint32_t in = 0; in < ports; ++in) {
                if (!lanes.empty() && (in == 0 || lanes[in] != lanes[in - 1])) {
                    row = limited(number_(lanes[in]));
                }
                tables.row_of[std::size_t{in} * ports + out] = row;
            }
        }
        // Most switches have the same tables as another.
        const auto same = std::ranges::find(file_.tables, tables);
        file_.tables_of.push_back(static_cast<std::uint32_t>(same - file_.tables.begin()));
        if (same == file_.tables.end()) {
            file_.tables.push_back(std::move(tables));
        }
    }

  private:
    std::uint16_t at_power_up(const agent::Node& node) {
        SlToVl::Row row{};
        for (std::uint8_t sl = 0; sl < row.size(); ++sl) {
            row[sl] = node.vl(0, 0, sl);
        }
        return limited(number_(row));
    }

    /// Returns the number of a row, or 0 if it is too large: no manager writes that many rows.
    static std::uint16_t limited(std::uint32_t row) {
        return row > kRowsMax ? std::uint16_t{0} : static_cast<std::uint16_t>(row);
    }

    shm::RouteFile& file_;
    Numbered<SlToVl::Row> number_;
};

void collect_multicast(const agent::Node& node, std::uint32_t sw, shm::RouteFile& file) {
    const auto mft = node.mft();
    for (std::size_t i = 0; i < mft.size(); ++i) {
        if (std::ranges::any_of(mft[i], [](std::uint16_t mask) { return mask != 0; })) {
            file.multicast.push_back(
                {sw, static_cast<std::uint16_t>(kLidMulticastMin.value + i), mft[i]});
        }
    }
}

SlMap collect_sls(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                  const routing::Graph& graph, const SlMap& planned) {
    if (planned.uniform()) {
        return {};
    }
    std::map<std::uint64_t, std::uint32_t> rank;
    for (std::uint32_t i = 0; i < graph.switch_count(); ++i) {
        rank[graph.guid(i).value] = i;
    }
    const auto count = static_cast<std::uint32_t>(switches.size());
    std::vector<std::uint32_t> rank_of(count, routing::kNone);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto found = rank.find(mesh.node(switches[i]).spec().node_guid.value);
        rank_of[i] = found == rank.end() ? routing::kNone : found->second;
    }
    SlMap sls = SlMap::by_pair(count);
    for (std::uint32_t a = 0; a < count; ++a) {
        for (std::uint32_t b = 0; b < count; ++b) {
            if (rank_of[a] != routing::kNone && rank_of[b] != routing::kNone) {
                sls.set(a, b, planned.at(rank_of[a], rank_of[b]), count);
            }
        }
    }
    return sls;
}

}  // namespace

shm::RouteFile collect_routes(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                              const sm::Manager* manager) {
    shm::RouteFile file;
    LaneCollector lanes(file);
    for (std::uint32_t i = 0; i < switches.size(); ++i) {
        const agent::Node& node = mesh.node(switches[i]);
        lanes.add(node);
        collect_multicast(node, i, file);
    }
    if (manager != nullptr && manager->state() == wire::SmState::kMaster &&
        manager->graph() != nullptr) {
        file.engine = manager->tables().engine;
        file.sls = collect_sls(mesh, switches, *manager->graph(), manager->tables().sls);
    }
    return file;
}

}  // namespace softib::daemon
