// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/tree_member.h"

#include <algorithm>
#include <cstring>

#include "core/sharp/aggregation_node.h"

namespace softib::sharp {

namespace {

using wire::SharpDataHeader;

/// Returns what two parts have in common; an empty part if that is nothing.
TreeMember::Part common(const TreeMember::Part& a, const TreeMember::Part& b) {
    const std::uint32_t begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

bool is_empty(const TreeMember::Part& part) {
    return part.begin == part.end;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> TreeMember::poll_transmit() {
    const auto found = std::ranges::find(tasks_, false, &Running::all_sent);
    if (found == tasks_.end() || error_ != Error::kNone) {
        return std::nullopt;
    }
    const Task& task = found->task;
    if (under_way_.size() >= (task.streaming ? rule_.streams : rule_.datagrams)) {
        return std::nullopt;
    }
    const Part here{
        found->next,
        std::min(task.bytes, found->next + rule_.payload_bytes(task.reduction, task.streaming))};
    const Part given = common(here, task.give);
    DataPacket packet;
    packet.header.kind = SharpDataHeader::Kind::kUp;
    packet.header.contributes = !is_empty(given);
    // In a barrier, which has no bytes, every member wants the result, since it waits for all.
    packet.header.wants_result = task.bytes == 0 || !is_empty(common(here, task.take));
    packet.header.streaming = task.streaming;
    packet.header.data_type = static_cast<std::uint8_t>(task.reduction.type);
    packet.header.tag_type = static_cast<std::uint8_t>(task.reduction.tag);
    packet.header.reduce_op = static_cast<std::uint8_t>(task.reduction.op);
    packet.header.tree_id = tree_;
    packet.header.group_id = group_;
    packet.header.sequence = task.sequence;
    packet.header.offset = here.begin;
    packet.header.length = here.end - here.begin;
    if (packet.header.contributes) {
        packet.payload.resize(packet.header.length);
        std::memcpy(packet.payload.data() + (given.begin - here.begin), task.vector + given.begin,
                    given.end - given.begin);
    }
    under_way_.emplace(task.sequence, here.begin);
    ++found->under_way;
    found->next = here.end;
    found->all_sent = here.end == task.bytes;
    return emit_packet(packet);
}

bool TreeMember::handle_packet(std::span<const std::uint8_t> bytes) {
    const auto packet = parse_packet(bytes);
    if (!packet || packet->header.group_id != group_ || packet->header.tree_id != tree_ ||
        packet->header.kind == SharpDataHeader::Kind::kUp) {
        return false;
    }
    const SharpDataHeader& header = packet->header;
    if (header.kind == SharpDataHeader::Kind::kError) {
        const bool unlocked =
            header.error == static_cast<std::uint8_t>(SharpDataHeader::Error::kNotLocked);
        error_ = unlocked ? Error::kLockFailed : Error::kInvalid;
        return true;
    }
    const auto found = std::ranges::find_if(
        tasks_, [&](const Running& each) { return each.task.sequence == header.sequence; });
    if (header.kind != SharpDataHeader::Kind::kDown || found == tasks_.end() ||
        header.offset + header.length > found->task.bytes ||
        under_way_.erase({header.sequence, header.offset}) == 0) {
        return false;
    }
    const Part here{static_cast<std::uint32_t>(header.offset),
                    static_cast<std::uint32_t>(header.offset) + header.length};
    const Part taken = common(here, found->task.take);
    if (header.contributes && !is_empty(taken)) {
        std::memcpy(found->task.vector + taken.begin,
                    packet->payload.data() + (taken.begin - here.begin), taken.end - taken.begin);
    }
    --found->under_way;
    return true;
}

std::optional<std::uint32_t> TreeMember::poll_done() {
    if (tasks_.empty() || !tasks_.front().all_sent || tasks_.front().under_way != 0) {
        return std::nullopt;
    }
    const std::uint32_t sequence = tasks_.front().task.sequence;
    tasks_.pop_front();
    return sequence;
}

}  // namespace softib::sharp
