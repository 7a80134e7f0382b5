// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The flows between NICs during a collective operation, computed from the places of ranks. The
// flows of a set go at once; an algorithm is one set, or a sequence of sets (rounds).

#include <cstdint>
#include <vector>

#include "plan/cluster/cluster.h"

namespace softib::plan {

/// Bytes from one end port of the fabric to another.
struct NicFlow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t bytes = 0;
    std::uint32_t connection = 0;  ///< Number that tells apart channels of one NIC.

    friend bool operator==(const NicFlow&, const NicFlow&) = default;
};
using Flows = std::vector<NicFlow>;

enum class RankOrder : std::uint8_t {
    kTopology,  ///< In the order of the fabric's nodes, so that neighbours share a leaf.
    kRandom,    ///< In a random order.
};

/// The places of ranks: NVLink domains in the order of ranks, and the NICs of each. The position of
/// a domain is its number in that order.
class Layout {
  public:
    /// Places ranks on the first `domains` NVLink domains of the cluster. `rails_aligned`: messages
    /// arrive by the same NIC of a domain as the one by which they leave.
    Layout(const Cluster& cluster, std::uint32_t domains, RankOrder order, bool rails_aligned,
           std::uint64_t seed);
    /// Places ranks on domains that have `nics` NICs each. `ends` has the end ports of these NICs,
    /// domain by domain. Rails are aligned.
    Layout(std::vector<std::uint32_t> ends, std::uint32_t nics, std::uint32_t gpus_per_domain);

    std::uint32_t domains() const { return static_cast<std::uint32_t>(ends_.size()) / nics_; }
    std::uint32_t gpus_per_domain() const { return gpus_; }
    std::uint32_t nics_per_domain() const { return nics_; }
    std::uint32_t ranks() const { return domains() * gpus_; }
    /// Returns the end port of a NIC of the domain at this position.
    std::uint32_t end(std::uint32_t position, std::uint32_t nic) const {
        return ends_[position * nics_ + nic];
    }
    /// Returns the NIC by which a message arrives that has left by `nic`: the same one, or the next
    /// if rails are not aligned.
    std::uint32_t nic_behind(std::uint32_t nic) const { return aligned_ ? nic : (nic + 1) % nics_; }

  private:
    std::vector<std::uint32_t> ends_;  ///< End ports of the NICs, position by position.
    std::uint32_t gpus_ = 1;
    std::uint32_t nics_ = 1;
    bool aligned_ = true;
};

/// Returns the flows of rings: every domain sends `bytes` to the next on each of the channels.
/// Channel c uses NIC c modulo the NICs of a domain.
Flows ring_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes);

/// The parent of each position in two binary trees; a root is its own parent. A position that is a
/// leaf of one tree is an inner node of the other.
struct TreePair {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> second;
};
/// Returns NCCL's double binary tree over `count` positions.
TreePair double_tree(std::uint32_t count);
/// Returns the flows up and down both trees at once: `bytes` on each channel, half on each tree.
Flows tree_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes);
/// Returns the flows of a broadcast from the first position: it sends half of `bytes` on each
/// channel to the root of each of two trees of the other positions, which pass them down.
Flows tree_down_flows(const Layout& layout, std::uint32_t channels, std::uint64_t bytes);
/// Returns how many messages follow each other from the first of `count` positions to the last that
/// such a broadcast reaches.
std::uint32_t tree_down_depth(std::uint32_t count);

/// Returns the rounds of recursive halving; each NIC has `bytes` at the beginning. If the positions
/// are no power of two, those in excess first send their bytes to others that stand in for them.
std::vector<Flows> halving_rounds(const Layout& layout, std::uint64_t bytes);
/// Returns the rounds of recursive doubling: those of recursive halving in reverse.
std::vector<Flows> doubling_rounds(const Layout& layout, std::uint64_t bytes);

/// Returns the rounds of PAT, in which positions send to those 1, 2, 4, ... further on; each NIC
/// has `bytes` at the end.
std::vector<Flows> pat_rounds(const Layout& layout, std::uint64_t bytes);

/// Returns the flows from every domain to every other: `bytes` from each NIC to the NIC of its
/// rail. If these are more than a few hundred thousand flows, an evenly spread part of them has the
/// bytes of all.
Flows all_to_all_flows(const Layout& layout, std::uint64_t bytes);

/// Returns the flows from the last GPU of each domain to the first GPU of the next.
Flows send_recv_flows(const Layout& layout, std::uint64_t bytes);

}  // namespace softib::plan
