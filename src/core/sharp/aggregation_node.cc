// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/aggregation_node.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/sharp/reduce.h"

namespace softib::sharp {

namespace {

using wire::SharpDataHeader;

constexpr std::uint32_t kPayloadMax = 1U << 20;

Reduction reduction_of(const SharpDataHeader& header) {
    return {static_cast<DataType>(header.data_type), static_cast<ReduceOp>(header.reduce_op),
            static_cast<DataType>(header.tag_type)};
}

/// Returns whether two packets agree in what all packets of a fragment have in common.
bool agree(const SharpDataHeader& a, const SharpDataHeader& b) {
    return a.streaming == b.streaming && a.tree_id == b.tree_id && a.length == b.length &&
           reduction_of(a) == reduction_of(b);
}

DataPacket error_packet(const SharpDataHeader& header, SharpDataHeader::Error error) {
    DataPacket packet{header, {}};
    packet.header.kind = SharpDataHeader::Kind::kError;
    packet.header.contributes = false;
    packet.header.error = static_cast<std::uint8_t>(error);
    return packet;
}

}  // namespace

std::vector<std::uint8_t> emit_packet(const DataPacket& packet) {
    std::vector<std::uint8_t> bytes(SharpDataHeader::kBytes + packet.payload.size());
    wire::emit(packet.header, std::span(bytes));
    if (!packet.payload.empty()) {
        std::memcpy(bytes.data() + SharpDataHeader::kBytes, packet.payload.data(),
                    packet.payload.size());
    }
    return bytes;
}

std::optional<DataPacket> parse_packet(std::span<const std::uint8_t> bytes) {
    const auto header = wire::parse<SharpDataHeader>(bytes);
    if (!header || header->version != SharpDataHeader::kVersion || header->length > kPayloadMax) {
        return std::nullopt;
    }
    const auto payload = bytes.subspan(SharpDataHeader::kBytes);
    if (payload.size() != (header->contributes ? header->length : 0)) {
        return std::nullopt;
    }
    const Reduction reduction = reduction_of(*header);
    if (!is_supported(reduction) || header->length % reduction.element_bytes() != 0) {
        return std::nullopt;
    }
    return DataPacket{*header, {payload.begin(), payload.end()}};
}

void AggregationNode::handle_packet(Qpn at, std::span<const std::uint8_t> bytes) {
    forget_stale();
    auto packet = parse_packet(bytes);
    const auto* const context = tables_.qp(at);
    if (!packet || context == nullptr || context->state != wire::SharpQpcConfig::State::kActive) {
        return discard();
    }
    const auto* const group = tables_.group(packet->header.group_id);
    const auto* const tree = tables_.tree(packet->header.tree_id);
    if (group == nullptr || tree == nullptr || group->tree != packet->header.tree_id ||
        tree->state != wire::SharpTreeConfig::State::kEnabled) {
        return discard();
    }
    if (packet->header.kind == SharpDataHeader::Kind::kUp && group->children.contains(at)) {
        return take_up(at, *group, std::move(*packet));
    }
    const bool from_parent = tree->parent != Qpn{} && tree->parent == at;
    if (packet->header.kind != SharpDataHeader::Kind::kUp && from_parent) {
        return take_down(*group, *packet);
    }
    if (packet->header.kind == SharpDataHeader::Kind::kError && group->children.contains(at)) {
        return fail(*group, packet->header,
                    static_cast<SharpDataHeader::Error>(packet->header.error));
    }
    discard();
}

void AggregationNode::take_up(Qpn at, const AggregationTables::Group& group, DataPacket packet) {
    const Key key{packet.header.group_id, packet.header.sequence, packet.header.offset};
    const auto found = operations_.find(key);
    if (found == operations_.end()) {
        if (packet.header.streaming && !group.locked) {
            return fail(group, packet.header, SharpDataHeader::Error::kNotLocked);
        }
        if (!has_room(group, packet.header)) {
            return discard();
        }
    } else {
        if (found->second.passed_on || found->second.from.contains(at)) {
            return discard();
        }
        if (!agree(found->second.from.begin()->second.header, packet.header)) {
            return fail(group, packet.header, SharpDataHeader::Error::kMismatch);
        }
    }
    Operation& operation = operations_[key];
    operation.from.emplace(at, std::move(packet));
    if (operation.from.size() == group.children.size()) {
        finish(key, group, operation);
    }
}

/// Reduces the packets of all children, and sends the result to the parent or, at the root, down.
void AggregationNode::finish(const Key& key, const AggregationTables::Group& group,
                             Operation& operation) {
    DataPacket sum;
    bool first = true;
    for (const Qpn child : tables_.children_of(group)) {
        const DataPacket& packet = operation.from.at(child);
        if (first) {
            sum.header = packet.header;
            sum.header.contributes = false;
            sum.header.wants_result = false;
            first = false;
        }
        sum.header.wants_result = sum.header.wants_result || packet.header.wants_result;
        if (!packet.header.contributes) {
            continue;
        }
        if (!sum.header.contributes) {
            sum.header.contributes = true;
            sum.payload = packet.payload;
            continue;
        }
        reduce_into(reduction_of(sum.header), std::as_writable_bytes(std::span(sum.payload)),
                    std::as_bytes(std::span(packet.payload)).data());
    }
    operation.passed_on = true;
    const Qpn parent = tables_.tree(group.tree)->parent;
    if (parent != Qpn{}) {
        return send(parent, sum);
    }
    sum.header.kind = SharpDataHeader::Kind::kDown;
    send_down(operation, sum);
    operations_.erase(key);
}

/// Sends the result to the children that want it. The others get its header only, which tells them
/// that the fragment is over, so that they can go on.
void AggregationNode::send_down(const Operation& operation, const DataPacket& result) {
    DataPacket word{result.header, {}};
    word.header.contributes = false;
    for (const auto& [child, asked] : operation.from) {
        send(child, asked.header.wants_result ? result : word);
    }
}

void AggregationNode::take_down(const AggregationTables::Group& group, const DataPacket& packet) {
    const Key key{packet.header.group_id, packet.header.sequence, packet.header.offset};
    const auto found = operations_.find(key);
    if (found == operations_.end()) {
        return discard();
    }
    if (packet.header.kind == SharpDataHeader::Kind::kError) {
        tell_children(group, packet.header,
                      static_cast<SharpDataHeader::Error>(packet.header.error));
        operations_.erase(found);
        return;
    }
    if (!found->second.passed_on || packet.header.kind != SharpDataHeader::Kind::kDown ||
        !agree(found->second.from.begin()->second.header, packet.header)) {
        return discard();
    }
    send_down(found->second, packet);
    operations_.erase(found);
}

/// Ends a fragment with an error: tells all children of the group, and the parent, which does the
/// same.
void AggregationNode::fail(const AggregationTables::Group& group, const SharpDataHeader& header,
                           SharpDataHeader::Error error) {
    tell_children(group, header, error);
    if (const Qpn parent = tables_.tree(group.tree)->parent; parent != Qpn{}) {
        send(parent, error_packet(header, error));
    }
    operations_.erase({header.group_id, header.sequence, header.offset});
}

void AggregationNode::tell_children(const AggregationTables::Group& group,
                                    const SharpDataHeader& header, SharpDataHeader::Error error) {
    for (const Qpn child : group.children) {
        send(child, error_packet(header, error));
    }
}

void AggregationNode::send(Qpn from, const DataPacket& packet) {
    ++tables_.counters().packet_sent;
    departures_.push_back({from, emit_packet(packet)});
}

std::optional<AggregationNode::Departure> AggregationNode::poll_transmit() {
    if (departures_.empty()) {
        return std::nullopt;
    }
    Departure next = std::move(departures_.front());
    departures_.pop_front();
    return next;
}

/// Returns whether the node may begin another fragment. The job's quota limits the fragments of all
/// its datagrams; the node's streaming_operations limits the streaming fragments of each group.
bool AggregationNode::has_room(const AggregationTables::Group& group,
                               const SharpDataHeader& header) const {
    const auto* const quota = tables_.quota(group.job, group.tree);
    if (quota == nullptr) {
        return false;
    }
    const auto same = std::ranges::count_if(operations_, [&](const auto& entry) {
        const bool streams = entry.second.from.begin()->second.header.streaming;
        if (streams || header.streaming) {
            return streams == header.streaming && entry.first.group == header.group_id;
        }
        const auto* const other = tables_.group(entry.first.group);
        return other != nullptr && other->job == group.job;
    });
    return static_cast<std::uint64_t>(same) <
           (header.streaming ? tables_.info().streaming_operations : quota->max_osts);
}

/// Drops, after a manager's write, the fragments of groups that are gone, and those with a packet
/// of a child that is no longer in its group.
void AggregationNode::forget_stale() {
    if (writes_seen_ == tables_.writes()) {
        return;
    }
    writes_seen_ = tables_.writes();
    std::erase_if(operations_, [&](const auto& entry) {
        const auto* const group = tables_.group(entry.first.group);
        return group == nullptr || std::ranges::any_of(entry.second.from, [&](const auto& from) {
                   return !group->children.contains(from.first);
               });
    });
}

}  // namespace softib::sharp
