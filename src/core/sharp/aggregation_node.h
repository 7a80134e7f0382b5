// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What an aggregation node does with data packets. A child sends one packet of every fragment of an
// operation: what it contributes, if anything, and whether it wants the result. When the packets of
// all children of the group are there, the node reduces them in the order of its tree, whatever
// order they came in, and sends one packet to its parent; at the root that packet is the result,
// which goes down to those who want it; the others get its header.
//
// One rule makes all operations: in an all-reduce everybody contributes and wants the result, in a
// reduce one member wants it, in a broadcast one contributes, a barrier has no payload. A
// reduce-scatter is a reduce to each member of its slice, an all-gather a broadcast from each.
//
// Transports below it are reliable (RC). A packet that does not fit the tables is counted
// (packet_discard_sharp) and changes nothing. Children that disagree about an operation all get an
// error.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/sharp/aggregation_tables.h"
#include "core/sharp/types.h"
#include "core/wire/sharp_data_header.h"

namespace softib::sharp {

/// A packet between two ends of a tree.
struct DataPacket {
    wire::SharpDataHeader header;
    std::vector<std::uint8_t> payload;  ///< Empty unless header.contributes.

    friend bool operator==(const DataPacket&, const DataPacket&) = default;
};

std::vector<std::uint8_t> emit_packet(const DataPacket& packet);
/// Returns std::nullopt if the bytes are no packet of this format.
std::optional<DataPacket> parse_packet(std::span<const std::uint8_t> bytes);

class AggregationNode {
  public:
    /// `tables` outlive it.
    explicit AggregationNode(AggregationTables& tables) : tables_(tables) {}

    /// A packet has come to one of the node's queue pairs.
    void handle_packet(Qpn at, std::span<const std::uint8_t> bytes);

    struct Departure {
        Qpn from;
        std::vector<std::uint8_t> bytes;
    };
    std::optional<Departure> poll_transmit();

    /// Fragments of operations that the node knows of.
    std::size_t outstanding() const { return operations_.size(); }

  private:
    struct Key {
        std::uint32_t group;
        std::uint32_t sequence;
        std::uint64_t offset;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Operation {
        std::map<Qpn, DataPacket> from;  ///< By child.
        bool passed_on = false;          ///< To the parent.
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
    std::uint64_t writes_seen_ = 0;
    std::map<Key, Operation> operations_;
    std::deque<Departure> departures_;
};

}  // namespace softib::sharp
