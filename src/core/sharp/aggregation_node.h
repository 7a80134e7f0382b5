// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The data path of an aggregation node. Each child sends one packet for every fragment of an
// operation. The packet has what the child contributes, if anything, and says whether the child
// wants the result. When the packets of all children of the group are there, the node reduces them
// in the order of its tree, whatever order they came in, and sends one packet to its parent. At the
// root that packet is the result, which goes down to the children that want it; the other children
// get its header only.
//
// This rule makes all operations: in an all-reduce every member contributes and wants the result,
// in a reduce one member wants it, in a broadcast one member contributes, and a barrier has no
// payload. A reduce-scatter is one reduce for each member, of that member's slice; an all-gather is
// one broadcast from each member.
//
// The transport below is reliable (RC). The node counts a packet that does not fit its tables
// (packet_discard_sharp) and otherwise ignores it. If children disagree about an operation, all of
// them get an error.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/sharp/aggregation_tables.h"
#include "core/sharp/types.h"
#include "core/wire/sharp/sharp_data_header.h"

namespace softib::sharp {

/// A packet between two ends of a tree.
struct DataPacket {
    wire::SharpDataHeader header;
    std::vector<std::uint8_t> payload;  ///< Empty unless header.contributes.

    friend bool operator==(const DataPacket&, const DataPacket&) = default;
};

/// Returns the bytes of a packet: its header, then its payload.
std::vector<std::uint8_t> emit_packet(const DataPacket& packet);
/// Returns the packet in the bytes; std::nullopt if its version, its length or its reduction is not
/// valid.
std::optional<DataPacket> parse_packet(std::span<const std::uint8_t> bytes);

class AggregationNode {
  public:
    /// `tables` must outlive the node.
    explicit AggregationNode(AggregationTables& tables) : tables_(tables) {}

    /// Handles a packet that has come to queue pair `at` of the node.
    void handle_packet(Qpn at, std::span<const std::uint8_t> bytes);

    /// A packet that leaves by queue pair `from` of the node.
    struct Departure {
        Qpn from;
        std::vector<std::uint8_t> bytes;
    };
    std::optional<Departure> poll_transmit();

    /// Returns the number of fragments of which a packet has come, and which are not over.
    std::size_t outstanding() const { return operations_.size(); }

  private:
    struct Key {
        std::uint32_t group;
        std::uint32_t sequence;
        std::uint64_t offset;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    /// One fragment of an operation.
    struct Operation {
        std::map<Qpn, DataPacket> from;  ///< Packets of children, by their queue pair.
        bool passed_on = false;          ///< Whether the reduced packet has gone to the parent.
    };

    void take_up(Qpn at, const AggregationTables::Group& group, DataPacket packet);
    void take_down(const AggregationTables::Group& group, const DataPacket& packet);
    void finish(const Key& key, const AggregationTables::Group& group, Operation& operation);
    void fail(const AggregationTables::Group& group, const wire::SharpDataHeader& header,
              wire::SharpDataHeader::Error error);
    void tell_children(const AggregationTables::Group& group, const wire::SharpDataHeader& header,
                       wire::SharpDataHeader::Error error);
    void send(Qpn from, const DataPacket& packet);
    void discard() { ++tables_.counters().packet_discard_sharp; }
    void forget_stale();
    void send_down(const Operation& operation, const DataPacket& result);
    bool has_room(const AggregationTables::Group& group, const wire::SharpDataHeader& header) const;

    AggregationTables& tables_;
    std::uint64_t writes_seen_ = 0;  ///< tables_.writes() when forget_stale() last looked.
    std::map<Key, Operation> operations_;
    std::deque<Departure> departures_;
};

}  // namespace softib::sharp
