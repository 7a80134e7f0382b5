// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/flows.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/base/prng.h"

namespace softib::plan {

Layout::Layout(const Cluster& cluster, std::uint32_t domains, RankOrder order, bool rails_aligned,
               std::uint64_t seed)
    : gpus_(cluster.domain_gpus()), aligned_(rails_aligned) {
    nics_ = std::max(1U, cluster.nics_per_node() * gpus_ / cluster.gpus_per_node);
    std::vector<std::uint32_t> places(domains);
    std::iota(places.begin(), places.end(), 0U);
    if (order == RankOrder::kRandom) {
        Prng prng(seed);
        for (std::size_t i = places.size(); i > 1; --i) {
            std::swap(places[i - 1], places[prng.below(i)]);
        }
    }
    // A domain has all NICs of its nodes, or its share of the NICs of one node. Several domains of
    // a node that has fewer NICs share one.
    for (const std::uint32_t place : places) {
        const std::uint32_t first =
            place * gpus_ / cluster.gpus_per_node * cluster.nics_per_node() +
            place * gpus_ % cluster.gpus_per_node * cluster.nics_per_node() / cluster.gpus_per_node;
        for (std::uint32_t nic = 0; nic < nics_; ++nic) {
            ends_.push_back(first + nic);
        }
    }
}

Layout::Layout(std::vector<std::uint32_t> ends, std::uint32_t nics, std::uint32_t gpus_per_domain)
    : ends_(std::move(ends)), gpus_(gpus_per_domain), nics_(nics) {}

Flows ring_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes) {
    Flows flows;
    const std::uint32_t count = layout.domains();
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t nic = channel % layout.nics_per_domain();
        for (std::uint32_t p = 0; p < count && count > 1; ++p) {
            flows.push_back({layout.end(p, nic),
                             layout.end((p + 1) % count, layout.nic_behind(nic)), bytes,
                             channel / layout.nics_per_domain()});
        }
    }
    return flows;
}

TreePair double_tree(std::uint32_t count) {
    // In-order numbering: position i, whose lowest set bit is b, stands between i - b and i + b.
    const auto parent = [count](std::uint32_t i) {
        if (i == 0) {
            return 0U;
        }
        const std::uint32_t bit = i & (~i + 1);
        const std::uint32_t up = (i ^ bit) | (bit << 1);
        return up < count ? up : i ^ bit;
    };
    TreePair trees{std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(count)};
    for (std::uint32_t i = 0; i < count; ++i) {
        trees.first[i] = parent(i);
        // The second tree is the first one mirrored if the number is even, else shifted by one:
        // the leaves of the first are odd positions, which are then inner nodes.
        const bool even = count % 2 == 0;
        const std::uint32_t image = even ? count - 1 - i : (i + count - 1) % count;
        const std::uint32_t up = parent(image);
        trees.second[i] = even ? count - 1 - up : (up + 1) % count;
    }
    return trees;
}

namespace {

/// Calls `visit` with each edge of two trees of `count` positions on each channel: a position,
/// its parent, the NIC of the former and the number of the connection. A root is its own parent.
template <typename Visit>
void visit_trees(const Layout& layout, std::uint32_t channels, std::uint32_t count, Visit visit) {
    const TreePair trees = double_tree(count);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t nic = channel % layout.nics_per_domain();
        std::uint32_t connection = 2 * (channel / layout.nics_per_domain());
        for (const auto* const parents : {&trees.first, &trees.second}) {
            for (std::uint32_t p = 0; p < count; ++p) {
                visit(p, (*parents)[p], nic, connection);
            }
            ++connection;
        }
    }
}

/// Returns the number of positions that pair up in rounds: the largest power of two.
std::uint32_t paired(const Layout& layout) {
    return std::bit_floor(layout.domains());
}

Flows swap_flows(const Layout& layout, std::uint32_t distance, std::uint64_t bytes) {
    Flows flows;
    for (std::uint32_t nic = 0; nic < layout.nics_per_domain(); ++nic) {
        for (std::uint32_t p = 0; p < paired(layout); ++p) {
            flows.push_back(
                {layout.end(p, nic), layout.end(p ^ distance, layout.nic_behind(nic)), bytes, 0});
        }
    }
    return flows;
}

/// Returns the flows between positions in excess of the power of two and those that stand in for
/// them; `back`: to the former.
Flows fold_flows(const Layout& layout, std::uint64_t bytes, bool back) {
    Flows flows;
    const std::uint32_t count = paired(layout);
    for (std::uint32_t nic = 0; nic < layout.nics_per_domain(); ++nic) {
        for (std::uint32_t p = count; p < layout.domains(); ++p) {
            const std::uint32_t extra = layout.end(p, nic);
            const std::uint32_t other = layout.end(p - count, nic);
            flows.push_back(back ? NicFlow{other, extra, bytes, 0}
                                 : NicFlow{extra, other, bytes, 0});
        }
    }
    return flows;
}

}  // namespace

Flows tree_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes) {
    Flows flows;
    visit_trees(layout, channels, layout.domains(),
                [&](auto p, auto parent, auto nic, auto number) {
                    if (parent != p) {
                        const std::uint32_t low = layout.end(p, nic);
                        const std::uint32_t high = layout.end(parent, layout.nic_behind(nic));
                        flows.push_back({high, low, bytes / 2, number});
                        flows.push_back({low, high, bytes / 2, number});
                    }
                });
    return flows;
}

Flows tree_down_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes) {
    Flows flows;
    const std::uint32_t others = layout.domains() - 1;
    visit_trees(layout, channels, others, [&](auto p, auto parent, auto nic, auto number) {
        const std::uint32_t from = parent == p ? 0 : parent + 1;
        flows.push_back(
            {layout.end(from, layout.nic_behind(nic)), layout.end(p + 1, nic), bytes / 2, number});
    });
    return flows;
}

std::uint32_t tree_down_depth(std::uint32_t count) {
    return count < 2 ? 0 : 1 + static_cast<std::uint32_t>(std::bit_width(count - 2));
}

std::vector<Flows> halving_rounds(const Layout& layout, std::uint64_t bytes) {
    std::vector<Flows> rounds;
    if (paired(layout) != layout.domains()) {
        rounds.push_back(fold_flows(layout, bytes, false));
    }
    for (std::uint32_t distance = paired(layout) / 2; distance != 0; distance /= 2) {
        bytes = (bytes + 1) / 2;
        rounds.push_back(swap_flows(layout, distance, bytes));
    }
    return rounds;
}

std::vector<Flows> doubling_rounds(const Layout& layout, std::uint64_t bytes) {
    std::vector<Flows> rounds = halving_rounds(layout, bytes);
    std::ranges::reverse(rounds);
    if (paired(layout) != layout.domains()) {
        rounds.back() = fold_flows(layout, bytes, true);
    }
    return rounds;
}

std::vector<Flows> pat_rounds(const Layout& layout, std::uint64_t bytes) {
    std::vector<Flows> rounds;
    const std::uint32_t count = layout.domains();
    for (std::uint32_t distance = 1; distance < count; distance *= 2) {
        const std::uint64_t blocks = std::min(distance, count - distance);
        Flows flows;
        for (std::uint32_t nic = 0; nic < layout.nics_per_domain(); ++nic) {
            for (std::uint32_t p = 0; p < count; ++p) {
                flows.push_back({layout.end(p, nic),
                                 layout.end((p + distance) % count, layout.nic_behind(nic)),
                                 std::max<std::uint64_t>(bytes * blocks / count, 1), 0});
            }
        }
        rounds.push_back(std::move(flows));
    }
    return rounds;
}

Flows all_to_all_flows(const Layout& layout, std::uint64_t bytes) {
    Flows flows;
    const std::uint32_t count = layout.domains();
    if (count < 2) {
        return flows;
    }
    constexpr std::uint32_t kFlowsMax = 1U << 18;
    constexpr std::uint32_t kShiftsMin = 8;
    const std::uint32_t shifts =
        std::min(std::max(kFlowsMax / (count * layout.nics_per_domain()), kShiftsMin), count - 1);
    const std::uint64_t whole = bytes * (count - 1);
    for (std::uint32_t i = 0; i < shifts; ++i) {
        const auto shift = static_cast<std::uint32_t>(1 + std::uint64_t{i} * (count - 1) / shifts);
        for (std::uint32_t nic = 0; nic < layout.nics_per_domain(); ++nic) {
            for (std::uint32_t p = 0; p < count; ++p) {
                flows.push_back({layout.end(p, nic),
                                 layout.end((p + shift) % count, layout.nic_behind(nic)),
                                 whole / shifts, 0});
            }
        }
    }
    return flows;
}

Flows send_recv_flows(const Layout& layout, std::uint64_t bytes) {
    Flows flows;
    const std::uint32_t count = layout.domains();
    // If rails are aligned, NVLink takes the message to the GPU on the receiver's rail, which is 0.
    const std::uint32_t nic = layout.nic_behind(0) == 0 ? 0 : layout.nics_per_domain() - 1;
    for (std::uint32_t p = 0; p < count && count > 1; ++p) {
        flows.push_back({layout.end(p, nic), layout.end((p + 1) % count, 0), bytes, 0});
    }
    return flows;
}

}  // namespace softib::plan
