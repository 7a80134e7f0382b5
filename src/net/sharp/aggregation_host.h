// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An aggregation node at port 0 of a switch: the tables that a manager writes, the node that
// reduces by them, and the HCA whose queue pairs the tables describe.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/hca/hca.h"
#include "core/sharp/aggregation_node.h"
#include "net/sharp/own_memory.h"
#include "net/sharp/tree_port.h"

namespace softib::net {

class AggregationHost {
  public:
    /// `tables` must outlive the host.
    explicit AggregationHost(sharp::AggregationTables& tables);

    hca::Hca& hca() { return hca_; }
    /// Opens and closes queue pairs as the tables say now. The HCA's port must be set before.
    void follow_tables();
    /// Takes what the HCA has received, and reduces. Must be called after the HCA has handled a
    /// packet. Returns how many further packets wait for transmit().
    std::size_t receive();
    /// Passes the first `packets` of the packets that wait to the HCA.
    void transmit(std::size_t packets);
    /// Returns the queue pairs that have given up since the last call: their peers do not answer.
    std::vector<Qpn> take_lost() { return std::exchange(lost_, {}); }
    const sharp::AggregationNode& node() const { return node_; }
    /// Returns what the node and the transport below it have counted since they were made.
    wire::SharpPerformanceCounters counters() const;

  private:
    sharp::AggregationTables& tables_;
    sharp::AggregationNode node_;
    OwnMemory memory_;
    hca::Hca hca_;
    hca::CqId cq_;
    TreePort port_;
    std::uint64_t writes_seen_ = UINT64_MAX;
    std::deque<sharp::AggregationNode::Departure> departures_;
    std::vector<Qpn> lost_;
};

}  // namespace softib::net
