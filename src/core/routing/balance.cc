// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/balance.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/prng.h"

namespace softib::routing {

namespace {

constexpr std::uint32_t kHostsMax = 1024;
constexpr std::uint64_t kLoadsMax = std::uint64_t{1} << 23;  // Entries of loads_, 16 MiB.
constexpr std::uint32_t kRandomPermutations = 32;
// Steps, of about a nanosecond each, after which no further pass begins.
constexpr std::uint64_t kStepsMax = 300'000'000;
constexpr std::uint64_t kSeed = 1;

/// What one more flow on a link costs, by the flows that it has. The flows of a link cost the
/// eighth power of their number, so that a link with one flow more than the others costs more than
/// what all of them save by it; from 64 flows on, each further flow costs the same.
constexpr auto kCostOfNext = [] {
    const auto power = [](std::int64_t flows) {
        const std::int64_t square = flows * flows;
        return square * square * square * square;
    };
    std::array<std::int64_t, 64> costs{};
    for (std::size_t flows = 0; flows < costs.size(); ++flows) {
        const auto before = static_cast<std::int64_t>(flows);
        costs[flows] = power(before + 1) - power(before);
    }
    return costs;
}();

class Balancer {
  public:
    Balancer(const Graph& graph, const PortGroups& groups, Lfts& lfts)
        : graph_(graph), groups_(groups), lfts_(lfts), out_(graph.switch_count()) {
        find_hosts();
        draw_permutations();
        loads_.resize(permutation_count() * graph.links().size());
        frozen_.resize(graph.switch_count());
        first_child_.resize(graph.switch_count() + 1);
        first_random_.resize(hosts_.size());
    }

    std::uint64_t run() {
        for (std::uint32_t to = 0; to < hosts_.size(); ++to) {
            load_routes(to);
            add_flows(to);
        }
        std::uint64_t total = 0;
        while (steps_ < kStepsMax) {
            std::uint64_t moved = 0;
            for (std::uint32_t to = 0; to < hosts_.size(); ++to) {
                moved += improve(to);
            }
            total += moved;
            if (moved == 0) {
                break;
            }
        }
        return total;
    }

  private:
    struct Host {
        std::uint32_t at;
        Lid lid;
        std::uint32_t order;
    };

    std::size_t permutation_count() const { return hosts_.size() - 1 + kRandomPermutations; }
    std::uint16_t& load(std::uint32_t permutation, std::uint32_t link) {
        return loads_[permutation * graph_.links().size() + link];
    }

    void find_hosts() {
        for (const Target& target : graph_.targets()) {
            if (!target.is_switch()) {
                hosts_.push_back({target.at, target.lid, target.order});
            }
        }
        std::ranges::sort(hosts_, {},
                          [](const Host& host) { return std::tuple(host.order, host.lid); });
        hosts_of_.resize(graph_.switch_count());
        for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
            hosts_of_[hosts_[i].at].push_back(i);
        }
    }

    void draw_permutations() {
        Prng prng(kSeed);
        for (auto& sources : random_) {
            sources.resize(hosts_.size());
            std::iota(sources.begin(), sources.end(), 0U);
            for (std::size_t i = sources.size(); i > 1; --i) {
                std::swap(sources[i - 1], sources[prng.below(i)]);
            }
        }
    }

    /// Reads the routes to a host into out_, and finds the entries that must stay.
    void load_routes(std::uint32_t to) {
        const Host& host = hosts_[to];
        std::ranges::fill(first_random_, kNone);
        for (std::uint32_t i = 0; i < kRandomPermutations; ++i) {
            next_random_[i] = std::exchange(first_random_[random_[i][to]], i);
        }
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            out_[sw] = sw == host.at ? kNone : graph_.link_at(sw, lfts_.at(sw, host.lid));
        }
        frozen_.assign(frozen_.size(), false);
        for (std::uint32_t start = 0; start < graph_.switch_count(); ++start) {
            if (out_[start] == kNone || groups_.of(start, host.at) != 0) {
                continue;
            }
            for (std::uint32_t sw = start; out_[sw] != kNone && !frozen_[sw]; sw = next(sw)) {
                frozen_[sw] = true;
            }
        }
    }

    std::uint32_t next(std::uint32_t sw) const { return graph_.links()[out_[sw]].peer; }

    void add_flows(std::uint32_t to) {
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (const std::uint32_t from : hosts_of_[sw]) {
                note_permutations(from, to);
            }
            for (std::uint32_t at = sw; out_[at] != kNone; at = next(at)) {
                for (const std::uint32_t permutation : permutations_) {
                    ++load(permutation, out_[at]);
                }
            }
            permutations_.clear();
        }
    }

    /// Adds to permutations_ those in which one host sends to another.
    void note_permutations(std::uint32_t from, std::uint32_t to) {
        const auto count = static_cast<std::uint32_t>(hosts_.size());
        if (from == to) {
            return;
        }
        permutations_.push_back((to + count - from) % count - 1);
        for (std::uint32_t i = first_random_[from]; i != kNone; i = next_random_[i]) {
            permutations_.push_back(count - 1 + i);
        }
    }

    /// Moves the entries of one host as long as that is of use. Returns the number of moves.
    std::uint64_t improve(std::uint32_t to) {
        load_routes(to);
        find_children();
        std::uint64_t moved = 0;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            const std::uint16_t group = groups_.of(sw, hosts_[to].at);
            const auto ports = groups_.ports(sw, group);
            if (out_[sw] == kNone || frozen_[sw] || ports.size() < 2) {
                continue;
            }
            gather_permutations(sw, to);
            if (!permutations_.empty() && try_ports(sw, to, ports)) {
                ++moved;
                find_children();
            }
        }
        permutations_.clear();
        return moved;
    }

    /// Sorts the switches by their next hop into children_.
    void find_children() {
        std::ranges::fill(first_child_, 0U);
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (out_[sw] != kNone) {
                ++first_child_[next(sw) + 1];
            }
        }
        std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
        children_.resize(first_child_.back());
        std::vector<std::uint32_t> place(first_child_.begin(), first_child_.end() - 1);
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (out_[sw] != kNone) {
                children_[place[next(sw)]++] = sw;
            }
        }
    }

    /// Fills permutations_ with those in which a flow to the host passes a switch.
    void gather_permutations(std::uint32_t sw, std::uint32_t to) {
        permutations_.clear();
        queue_.assign(1, sw);
        for (std::size_t i = 0; i < queue_.size(); ++i) {
            for (const std::uint32_t from : hosts_of_[queue_[i]]) {
                note_permutations(from, to);
            }
            for (std::uint32_t j = first_child_[queue_[i]]; j < first_child_[queue_[i] + 1]; ++j) {
                queue_.push_back(children_[j]);
            }
        }
    }

    bool try_ports(std::uint32_t sw, std::uint32_t to, std::span<const std::uint8_t> ports) {
        const std::uint32_t before = out_[sw];
        change_flows(sw, -1);
        std::uint32_t best = before;
        std::int64_t least = cost_of(sw, before);
        for (const std::uint8_t port : ports) {
            const std::uint32_t link = graph_.link_at(sw, port);
            if (link != kNone && link != before) {
                const std::int64_t here = cost_of(sw, link);
                if (here < least) {
                    least = here;
                    best = link;
                }
            }
        }
        out_[sw] = best;
        change_flows(sw, 1);
        lfts_.at(sw, hosts_[to].lid) = graph_.links()[best].port;
        return best != before;
    }

    void change_flows(std::uint32_t sw, int by) {
        for (std::uint32_t at = sw; out_[at] != kNone; at = next(at)) {
            for (const std::uint32_t permutation : permutations_) {
                std::uint16_t& flows = load(permutation, out_[at]);
                flows = static_cast<std::uint16_t>(flows + by);
            }
        }
    }

    /// Returns what the flows of permutations_ cost if a switch sends them out by a link.
    std::int64_t cost_of(std::uint32_t sw, std::uint32_t link) {
        std::int64_t sum = 0;
        for (std::uint32_t at = sw; link != kNone; link = out_[at]) {
            steps_ += permutations_.size();
            for (const std::uint32_t permutation : permutations_) {
                const std::size_t flows = load(permutation, link);
                sum += kCostOfNext[std::min(flows, kCostOfNext.size() - 1)];
            }
            at = graph_.links()[link].peer;
        }
        return sum;
    }

    const Graph& graph_;
    const PortGroups& groups_;
    Lfts& lfts_;
    std::vector<Host> hosts_;  ///< All hosts in their order.
    std::vector<std::vector<std::uint32_t>> hosts_of_;
    /// By random permutation and destination: the source.
    std::array<std::vector<std::uint32_t>, kRandomPermutations> random_;
    std::uint64_t steps_ = 0;
    std::vector<std::uint16_t> loads_;  ///< Flows, by permutation (first all shifts) and link.
    // About the host whose entries are looked at:
    std::vector<std::uint32_t> first_random_;  ///< By source: its first random permutation.
    std::array<std::uint32_t, kRandomPermutations> next_random_{};
    std::vector<std::uint32_t> out_;  ///< By switch: the link that it sends by, or kNone.
    std::vector<bool> frozen_;
    std::vector<std::uint32_t> first_child_;
    std::vector<std::uint32_t> children_;
    std::vector<std::uint32_t> queue_;
    std::vector<std::uint32_t> permutations_;
};

}  // namespace

bool may_balance(const Graph& graph) {
    const std::uint64_t hosts = graph.host_count();
    return hosts > 1 && hosts <= kHostsMax &&
           (hosts + kRandomPermutations) * graph.links().size() <= kLoadsMax;
}

std::uint64_t balance(const Graph& graph, const PortGroups& groups, Lfts& lfts) {
    return may_balance(graph) && !groups.empty() ? Balancer(graph, groups, lfts).run() : 0;
}

}  // namespace softib::routing
