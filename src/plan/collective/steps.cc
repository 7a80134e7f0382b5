// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/steps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "plan/collective/algorithms.h"

namespace softib::plan {

namespace {

/// Bytes of a part of a pipeline: NCCL's smallest chunk between nodes.
constexpr std::uint64_t kPartBytes = 128 * 1024;
/// The most parts of one message that are under way at once.
constexpr std::uint32_t kPartsOpen = 2;

/// Bytes by sender, receiver and tree.
using EdgeBytes = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t>;

EdgeBytes add_up(const Flows& flows, bool trees) {
    EdgeBytes bytes;
    for (const NicFlow& flow : flows) {
        if (flow.from != flow.to) {
            bytes[{flow.from, flow.to, trees ? flow.connection % 2 : 0}] += flow.bytes;
        }
    }
    return bytes;
}

/// Returns the edges of a ring, beginning at the position `first`, each with the bytes of all its
/// flows. Edges between NICs that several domains share are there once.
Flows ring_edges(const Layout& layout, const Flows& flows, std::uint32_t first) {
    EdgeBytes bytes = add_up(flows, false);
    Flows edges;
    for (std::uint32_t i = 0; i < layout.domains(); ++i) {
        const std::uint32_t from = (first + i) % layout.domains();
        const std::uint32_t to = (from + 1) % layout.domains();
        for (std::uint32_t nic = 0; nic < layout.nics_per_domain(); ++nic) {
            const auto edge =
                bytes.extract({layout.end(from, nic), layout.end(to, layout.nic_behind(nic)), 0});
            if (!edge.empty()) {
                edges.push_back(
                    {std::get<0>(edge.key()), std::get<1>(edge.key()), edge.mapped(), 0});
            }
        }
    }
    return edges;
}

/// Returns the bytes of part `part` of `parts`, at least one.
std::uint64_t part_of(std::uint64_t bytes, std::uint32_t part, std::uint32_t parts) {
    return std::max<std::uint64_t>(bytes / parts + (part < bytes % parts ? 1U : 0U), 1);
}

std::uint32_t parts_of(const Flows& edges) {
    std::uint64_t longest = 0;
    for (const NicFlow& edge : edges) {
        longest = std::max(longest, edge.bytes);
    }
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(longest / kPartBytes, 1, kStepsMax));
}

std::uint32_t rounded_up(std::uint32_t number, std::uint32_t by) {
    return (number + by - 1) / by;
}

/// One of the two trees: positions in the order of their depth, and the children of each.
struct Branches {
    const std::vector<std::uint32_t>& parent;
    std::vector<std::uint32_t> order = {};
    std::vector<std::vector<std::uint32_t>> children = {};
    std::uint32_t depth = 0;

    explicit Branches(const std::vector<std::uint32_t>& parents)
        : parent(parents), order(parents.size()), children(parents.size()) {
        std::vector<std::uint32_t> depths(parents.size());
        for (std::uint32_t p = 0; p < parents.size(); ++p) {
            for (std::uint32_t at = p; parents[at] != at; at = parents[at]) {
                ++depths[p];
            }
            if (parents[p] != p) {
                children[parents[p]].push_back(p);
            }
            depth = std::max(depth, depths[p]);
        }
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::stable_sort(order, {}, [&](std::uint32_t p) { return depths[p]; });
    }
    bool is_root(std::uint32_t position) const { return parent[position] == position; }
};

/// Makes the steps of two trees over the same NICs, one part after the other.
class TreeSteps {
  public:
    TreeSteps(const Layout& layout, const Flows& flows)
        : layout_(layout), bytes_(add_up(flows, true)), parts_(parts_of(flows)) {}

    CollectiveSteps run() {
        const TreePair trees = double_tree(layout_.domains());
        const Branches branches[]{Branches(trees.first), Branches(trees.second)};
        for (std::uint32_t part = 0; part < parts_; ++part) {
            part_ = part;
            for (std::uint32_t nic = 0; nic < layout_.nics_per_domain(); ++nic) {
                add_part(branches[0], nic, 0);
                add_part(branches[1], nic, 1);
            }
            a_part_ = a_part_ == 0 ? steps_.all.size() : a_part_;
        }
        steps_.hops = 2 * std::max(branches[0].depth, branches[1].depth);
        return std::move(steps_);
    }

  private:
    void add_part(const Branches& tree, std::uint32_t nic, std::uint32_t number) {
        std::vector<std::uint32_t> up(tree.order.size(), kNoStep);
        std::vector<std::uint32_t> down(tree.order.size(), kNoStep);
        const auto children_of = [&](std::uint32_t position) {
            std::vector<std::uint32_t> steps;
            for (const std::uint32_t child : tree.children[position]) {
                steps.push_back(up[child]);
            }
            return steps;
        };
        for (auto p = tree.order.rbegin(); p != tree.order.rend(); ++p) {
            if (!tree.is_root(*p)) {
                up[*p] = add({layout_.end(*p, nic),
                              layout_.end(tree.parent[*p], layout_.nic_behind(nic)), 0, number},
                             children_of(*p));
            }
        }
        for (const std::uint32_t p : tree.order) {
            if (!tree.is_root(p)) {
                const std::uint32_t parent = tree.parent[p];
                down[p] = add(
                    {layout_.end(parent, layout_.nic_behind(nic)), layout_.end(p, nic), 0, number},
                    tree.is_root(parent) ? children_of(parent) : std::vector{down[parent]});
            }
        }
    }

    std::uint32_t add(NicFlow flow, std::vector<std::uint32_t> after) {
        const auto number = static_cast<std::uint32_t>(steps_.all.size());
        const auto known = bytes_.find({flow.from, flow.to, flow.connection});
        flow.bytes = known == bytes_.end() ? 0 : part_of(known->second, part_, parts_);
        CollectiveStep step{.flow = flow, .after = std::move(after), .leads = part_ == 0};
        if (part_ >= kPartsOpen) {
            step.behind = static_cast<std::uint32_t>(number - kPartsOpen * a_part_);
        }
        steps_.all.push_back(std::move(step));
        return number;
    }

    const Layout& layout_;
    EdgeBytes bytes_;
    std::uint32_t parts_;
    std::uint32_t part_ = 0;
    std::size_t a_part_ = 0;  ///< Number of steps of one part.
    CollectiveSteps steps_ = {};
};

}  // namespace

CollectiveSteps ring_steps(const Layout& layout, const Flows& flows, std::uint32_t count) {
    const Flows edges = ring_edges(layout, flows, 0);
    std::multimap<std::uint32_t, std::uint32_t> by_receiver;
    for (std::uint32_t e = 0; e < edges.size(); ++e) {
        by_receiver.emplace(edges[e].to, e);
    }
    CollectiveSteps steps{.hops = count};
    for (std::uint32_t k = 0; k < count; ++k) {
        const auto before = static_cast<std::uint32_t>(steps.all.size() - edges.size());
        for (const NicFlow& edge : edges) {
            CollectiveStep step{.flow = edge};
            step.flow.bytes = part_of(edge.bytes, k, count);
            const auto [from, to] = by_receiver.equal_range(edge.from);
            for (auto each = from; k != 0 && each != to; ++each) {
                step.after.push_back(before + each->second);
            }
            steps.all.push_back(std::move(step));
        }
    }
    return steps;
}

CollectiveSteps chain_steps(const Layout& layout, const Flows& flows, std::uint32_t first) {
    const Flows edges = ring_edges(layout, flows, first);
    const std::uint32_t parts = parts_of(edges);
    const auto count = static_cast<std::uint32_t>(edges.size());
    CollectiveSteps steps{.hops = layout.domains()};
    for (std::uint32_t part = 0; part < parts; ++part) {
        std::map<std::uint32_t, std::uint32_t> came;  // The step that each NIC has received.
        for (const NicFlow& edge : edges) {
            const auto number = static_cast<std::uint32_t>(steps.all.size());
            CollectiveStep step{.flow = edge, .leads = part == 0};
            step.flow.bytes = part_of(edge.bytes, part, parts);
            if (const auto before = came.find(edge.from); before != came.end()) {
                step.after.push_back(before->second);
            }
            if (part >= kPartsOpen) {
                step.behind = number - kPartsOpen * count;
            }
            came[edge.to] = number;
            steps.all.push_back(std::move(step));
        }
    }
    return steps;
}

CollectiveSteps tree_steps(const Layout& layout, const Flows& flows) {
    return TreeSteps(layout, flows).run();
}

CollectiveSteps round_steps(std::span<const Flows> rounds) {
    CollectiveSteps steps{.hops = static_cast<std::uint32_t>(rounds.size())};
    std::map<std::uint32_t, std::vector<std::uint32_t>> came;  // Steps that each NIC has received.
    for (const Flows& round : rounds) {
        const auto begin = static_cast<std::uint32_t>(steps.all.size());
        for (const auto& [edge, bytes] : add_up(round, false)) {
            const NicFlow flow{std::get<0>(edge), std::get<1>(edge), bytes, 0};
            steps.all.push_back({.flow = flow, .after = came[flow.from]});
        }
        for (auto i = begin; i < steps.all.size(); ++i) {
            came[steps.all[i].flow.to].push_back(i);
        }
    }
    return steps;
}

CollectiveSteps steps_of(const Layout& layout, Op op, Algorithm algorithm,
                         std::span<const Flows> rounds, std::uint32_t first) {
    const StepKind kind = row_of(algorithm).steps;
    const bool levels = kind == StepKind::kRingOfDomains;
    if (rounds.size() == 1 && (levels || kind == StepKind::kRingOfGpus)) {
        if (op == Op::kBroadcast) {
            return chain_steps(layout, rounds.front(), first);
        }
        // The GPUs of a domain are neighbours in the ring: as many steps as a domain has GPUs are
        // one step between NICs.
        const std::uint32_t places = levels ? layout.domains() : layout.ranks();
        const std::uint32_t around = (op == Op::kAllReduce ? 2 : 1) * (places - 1);
        const std::uint32_t count = rounded_up(around, levels ? 1 : layout.gpus_per_domain());
        return ring_steps(layout, rounds.front(), std::min(count, kStepsMax));
    }
    if (rounds.size() == 1 && kind == StepKind::kTrees && op == Op::kAllReduce) {
        return tree_steps(layout, rounds.front());
    }
    return round_steps(rounds);
}

}  // namespace softib::plan
