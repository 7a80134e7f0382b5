// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the roots of congestion. Where more packets come to a cable than it carries, they wait for
// the cable itself: it is full. The waiting packets fill the buffers behind the cable, so the ports
// that send into those buffers run out of credits, and then the ports behind these ports: a tree
// whose root is the full cable. Flows that pass through the tree without going to its root are
// victims: they wait for a cable that they do not use.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "net/model.h"
#include "plan/ends.h"

namespace softib::plan {

using net::TimePs;

/// All messages from one end port to another.
struct Flow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// The links that each flow passes, as positions in a list of links.
class FlowPaths {
  public:
    /// Finds the links of `flows` in the routes of `model`. `ends_only`: switches choose the path
    /// (adaptive routing), so only the first and the last link of a flow are kept.
    FlowPaths(const net::Model& model, std::span<const net::LinkLoad> links,
              std::vector<Flow> flows, bool ends_only);

    std::size_t count() const { return flows_.size(); }
    const Flow& flow(std::size_t i) const { return flows_[i]; }
    std::span<const std::uint32_t> links(std::size_t i) const {
        return std::span(links_).subspan(first_[i], first_[i + 1] - first_[i]);
    }
    /// Returns the number of flows on each link.
    const std::vector<std::uint32_t>& flows_on() const { return flows_on_; }

  private:
    std::vector<Flow> flows_ = {};
    /// Position in links_ of each flow's first link; one more entry marks the end.
    std::vector<std::size_t> first_ = {};
    std::vector<std::uint32_t> links_ = {};
    std::vector<std::uint32_t> flows_on_ = {};
};

struct CongestionTree {
    std::uint32_t root = 0;                  ///< Position of the full link in the list of links.
    std::uint32_t flows = 0;                 ///< Flows through the root.
    std::uint32_t to = 0;                    ///< The end port to which most of these flows go.
    std::uint32_t flows_to = 0;              ///< Flows through the root that go to `to`.
    std::uint32_t victims = 0;               ///< Flows that wait in the tree and go elsewhere.
    std::vector<std::uint32_t> behind = {};  ///< Links without credits because of the root.
    std::string text = {};  ///< "leaf3:17 is full because of 31 flows to h812; ..."
};

/// Returns the worst congestion trees of a run that lasted `duration`, the worst first.
std::vector<CongestionTree> find_trees(const topo::Fabric& fabric, const Ends& ends,
                                       std::span<const net::LinkLoad> links, const FlowPaths& paths,
                                       TimePs duration);

}  // namespace softib::plan
