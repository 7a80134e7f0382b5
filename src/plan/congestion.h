// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the roots of congestion. Where more comes to a cable than it carries, packets wait for the
// cable itself: it is full. They keep the buffers behind them, so ports that send into those
// buffers run out of credits, and ports behind these: a tree whose root is the full cable. Flows
// that pass through the tree without going to its root wait for nothing of their own doing.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/topo/fabric.h"
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

/// The links of flows, as numbers of a list of links.
class FlowPaths {
  public:
    /// `ends_only`: switches choose the way, so only the first and the last link are certain.
    FlowPaths(const net::Model& model, std::span<const net::LinkLoad> links,
              std::vector<Flow> flows, bool ends_only);

    std::size_t count() const { return flows_.size(); }
    const Flow& flow(std::size_t i) const { return flows_[i]; }
    std::span<const std::uint32_t> links(std::size_t i) const {
        return std::span(links_).subspan(first_[i], first_[i + 1] - first_[i]);
    }
    /// Flows by link.
    const std::vector<std::uint32_t>& flows_on() const { return flows_on_; }

  private:
    std::vector<Flow> flows_ = {};
    std::vector<std::size_t> first_ = {};  ///< By flow, one more at the end.
    std::vector<std::uint32_t> links_ = {};
    std::vector<std::uint32_t> flows_on_ = {};
};

struct CongestionTree {
    std::uint32_t root = 0;                  ///< Number of the link.
    std::uint32_t flows = 0;                 ///< Through the root.
    std::uint32_t to = 0;                    ///< The end port to which most of them go,
    std::uint32_t flows_to = 0;              ///< and how many.
    std::uint32_t victims = 0;               ///< Flows that wait behind it and go elsewhere.
    std::vector<std::uint32_t> behind = {};  ///< Links without credits because of it.
    std::string text = {};  ///< "leaf3:17 is full because of 31 flows to h812; ..."
};

/// The worst first. `duration`: of the run.
std::vector<CongestionTree> find_trees(const topo::Fabric& fabric, const Ends& ends,
                                       std::span<const net::LinkLoad> links, const FlowPaths& paths,
                                       TimePs duration);

}  // namespace softib::plan
