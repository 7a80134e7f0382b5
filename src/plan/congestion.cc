// SPDX-License-Identifier: BSD-2-Clause
#include "plan/congestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "plan/units.h"

namespace softib::plan {

namespace {

// From these parts of the run on, a link counts as full, or as without credits.
constexpr double kFull = 0.1;
constexpr double kBlocked = 0.05;
constexpr std::size_t kTreesMax = 8;

double part(TimePs time, TimePs duration) {
    return duration == 0 ? 0 : static_cast<double>(time) / static_cast<double>(duration);
}

/// Finds the links and flows that belong to a tree.
class Grower {
  public:
    Grower(std::span<const net::LinkLoad> links, const FlowPaths& paths, TimePs duration)
        : links_(links), paths_(paths), duration_(duration) {}

    CongestionTree grow(std::uint32_t root) {
        CongestionTree tree{.root = root};
        std::vector<std::uint8_t> in_tree(links_.size());
        in_tree[root] = 1;
        // Each round adds the links behind those found so far.
        for (bool grows = true; grows;) {
            grows = false;
            for (std::size_t flow = 0; flow < paths_.count(); ++flow) {
                grows |= climb(flow, in_tree, tree);
            }
        }
        count_flows(in_tree, tree);
        return tree;
    }

  private:
    /// Adds the links of a flow's path that lie directly behind the tree and have no credits.
    /// Returns whether there was one.
    bool climb(std::size_t flow, std::vector<std::uint8_t>& in_tree, CongestionTree& tree) {
        const std::span<const std::uint32_t> path = paths_.links(flow);
        bool grown = false;
        for (std::size_t hop = path.size(); hop-- > 1;) {
            const std::uint32_t before = path[hop - 1];
            const bool blocked = part(links_[before].blocked_ps, duration_) >= kBlocked;
            if (in_tree[path[hop]] != 0 && in_tree[before] == 0 && blocked) {
                in_tree[before] = 1;
                tree.behind.push_back(before);
                grown = true;
            }
        }
        return grown;
    }
    void count_flows(const std::vector<std::uint8_t>& in_tree, CongestionTree& tree) const {
        std::map<std::uint32_t, std::uint32_t> by_target;
        for (std::size_t flow = 0; flow < paths_.count(); ++flow) {
            bool through = false;
            bool behind = false;
            for (const std::uint32_t link : paths_.links(flow)) {
                through |= link == tree.root;
                behind |= in_tree[link] != 0;
            }
            if (through) {
                ++tree.flows;
                ++by_target[paths_.flow(flow).to];
            } else if (behind) {
                ++tree.victims;
            }
        }
        for (const auto& [to, flows] : by_target) {
            if (flows > tree.flows_to) {
                tree.to = to;
                tree.flows_to = flows;
            }
        }
    }

    std::span<const net::LinkLoad> links_;
    const FlowPaths& paths_;
    TimePs duration_;
};

std::string describe(const topo::Fabric& fabric, const Ends& ends, const net::LinkLoad& link,
                     const CongestionTree& tree) {
    std::string text = fmt::format("{} is full because of {}", name_of(fabric, link.at),
                                   counted(tree.flows, "flow"));
    if (tree.flows_to == tree.flows) {
        text += " to " + ends.name(tree.to);
    } else if (tree.flows_to > 1) {
        text += fmt::format(", {} of them to {}", tree.flows_to, ends.name(tree.to));
    }
    if (tree.victims != 0) {
        text += fmt::format("; {} {} behind it", counted(tree.victims, "other flow"),
                            tree.victims == 1 ? "waits" : "wait");
    }
    return text;
}

}  // namespace

FlowPaths::FlowPaths(const net::Model& model, std::span<const net::LinkLoad> links,
                     std::vector<Flow> flows, bool ends_only)
    : flows_(std::move(flows)), flows_on_(links.size()) {
    const auto number_of = [&](const net::Hop& hop) {
        const auto found = std::ranges::lower_bound(links, hop, {}, &net::LinkLoad::at);
        return static_cast<std::uint32_t>(found - links.begin());
    };
    for (const Flow& flow : flows_) {
        first_.push_back(links_.size());
        std::vector<net::Hop> path = model.path(flow.from, flow.to);
        if (ends_only && path.size() > 2) {
            path = {path.front(), path.back()};
        }
        for (const net::Hop& hop : path) {
            links_.push_back(number_of(hop));
            ++flows_on_[links_.back()];
        }
    }
    first_.push_back(links_.size());
}

std::vector<CongestionTree> find_trees(const topo::Fabric& fabric, const Ends& ends,
                                       std::span<const net::LinkLoad> links, const FlowPaths& paths,
                                       TimePs duration) {
    std::vector<std::uint32_t> roots;
    for (std::uint32_t i = 0; i < links.size(); ++i) {
        const bool at_switch = fabric.nodes[links[i].at.node].kind == topo::NodeKind::kSwitch;
        if (at_switch && paths.flows_on()[i] > 1 && links[i].full_ps > 2 * links[i].blocked_ps &&
            part(links[i].full_ps, duration) >= kFull) {
            roots.push_back(i);
        }
    }
    std::ranges::stable_sort(roots, std::greater<>(), [&](std::uint32_t i) {
        return std::pair(links[i].full_ps, paths.flows_on()[i]);
    });
    roots.resize(std::min(roots.size(), kTreesMax));
    Grower grower(links, paths, duration);
    std::vector<CongestionTree> trees;
    for (const std::uint32_t root : roots) {
        trees.push_back(grower.grow(root));
        trees.back().text = describe(fabric, ends, links[root], trees.back());
    }
    return trees;
}

}  // namespace softib::plan
