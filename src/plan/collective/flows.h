// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What NICs send to each other during a collective operation: pure arithmetic on the places of
// ranks. A set of flows goes at once; an algorithm is one set or a sequence of rounds.

#include <cstdint>
#include <vector>

#include "plan/cluster/cluster.h"

namespace softib::plan {

/// Bytes from one end port of the fabric to another.
struct NicFlow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t connection = 0;  ///< The channel.

    friend bool operator==(const NicFlow&, const NicFlow&) = default;
};
using Flows = std::vector<NicFlow>;

enum class RankOrder : std::uint8_t {
    kTopology,  ///< As the fabric numbers nodes, so that neighbours share a leaf.
    kRandom,    ///< Shuffled.
};

/// The places of ranks: NVLink domains in the order of ranks, and the NICs of each.
class Layout {
  public:
    /// The first `domains` NVLink domains of the cluster.
    Layout(const Cluster& cluster, std::uint32_t domains, RankOrder order, bool rails_aligned,
           std::uint64_t seed);
    /// Domains by the end ports of their NICs, of which each has `nics`; rails are aligned.
    Layout(std::vector<std::uint32_t> ends, std::uint32_t nics, std::uint32_t gpus_per_domain);

    std::uint32_t domains() const { return static_cast<std::uint32_t>(ends_.size()) / nics_; }
    std::uint32_t gpus_per_domain() const { return gpus_; }
    std::uint32_t nics_per_domain() const { return nics_; }
    std::uint32_t ranks() const { return domains() * gpus_; }
    /// The end port of a NIC of the domain that is at this position.
    std::uint32_t end(std::uint32_t position, std::uint32_t nic) const {
        return ends_[position * nics_ + nic];
    }
    /// NIC by which a message arrives that has left by `nic`: the same, or the next if rails are
    /// not aligned.
    std::uint32_t nic_behind(std::uint32_t nic) const { return aligned_ ? nic : (nic + 1) % nics_; }

  private:
    std::vector<std::uint32_t> ends_;  ///< By position, and by NIC of each.
    std::uint32_t gpus_ = 1;
    std::uint32_t nics_ = 1;
    bool aligned_ = true;
};

/// Every domain to the next, `bytes` on each of the channels; channel c has NIC c modulo NICs.
Flows ring_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes);

/// Parents in the two binary trees over `count` positions; the root has itself. A position that is
/// a leaf of one tree is inside the other.
struct TreePair {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> second;
};
TreePair double_tree(std::uint32_t count);
/// Up and down both trees at once: `bytes` on each of the channels, half on each tree.
Flows tree_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes);
/// Down alone, from the root of each tree.
Flows tree_down_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes);

/// Recursive halving: one set for each round, `bytes` in each NIC at the beginning. Positions that
/// exceed a power of two give their part to another first.
std::vector<Flows> halving_rounds(const Layout& layout, std::uint64_t bytes);
/// The same backwards: recursive doubling.
std::vector<Flows> doubling_rounds(const Layout& layout, std::uint64_t bytes);

/// PAT: to the position that is 1, 2, 4, ... on; `bytes` in each NIC at the end.
std::vector<Flows> pat_rounds(const Layout& layout, std::uint64_t bytes);

/// Every domain to every other: `bytes` from each NIC to the NIC of its rail. Of more than a few
/// hundred thousand pairs a part stands for all, evenly spread, with the bytes of all.
Flows all_to_all_flows(const Layout& layout, std::uint64_t bytes);

/// The last GPU of each domain to the first of the next.
Flows send_recv_flows(const Layout& layout, std::uint64_t bytes);

}  // namespace softib::plan
