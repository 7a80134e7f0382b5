// SPDX-License-Identifier: BSD-2-Clause
// Messages between two ranks.
#include <algorithm>

#include "plan/trace/player.h"

namespace softib::plan::trace {

/// Takes the receive that matches a message from this rank with this tag out of the mailbox.
/// Returns kNone if none has begun.
std::uint32_t Player::find_recv(Mailbox& box, const Mailbox::Key& key) {
    const auto exact = box.recvs.find(key);
    const std::uint64_t exact_order =
        exact == box.recvs.end() ? UINT64_MAX : exact->second.front().order;
    for (auto any = box.any.begin(); any != box.any.end() && any->order < exact_order; ++any) {
        const Operation& op =
            operation(static_cast<std::uint32_t>(&box - boxes_.data()), any->operation);
        if ((op.peer == kAnyRank || op.peer == key.first) &&
            (op.tag == kAnyTag || op.tag == key.second)) {
            const std::uint32_t found = any->operation;
            box.any.erase(any);
            return found;
        }
    }
    if (exact == box.recvs.end()) {
        return kNone;
    }
    const std::uint32_t found = exact->second.front().what;
    exact->second.pop_front();
    if (exact->second.empty()) {
        box.recvs.erase(exact);
    }
    return found;
}

/// Takes the transfer that matches a receive from this rank with this tag, or from any, out of the
/// mailbox. Returns kNone if none has begun.
std::uint32_t Player::find_send(Mailbox& box, const Mailbox::Key& key) {
    auto best = box.sends.end();
    if (key.first != kAnyRank && key.second != kAnyTag) {
        best = box.sends.find(key);
    } else {
        for (auto each = box.sends.begin(); each != box.sends.end(); ++each) {
            const bool meets = (key.first == kAnyRank || each->first.first == key.first) &&
                               (key.second == kAnyTag || each->first.second == key.second);
            if (meets && (best == box.sends.end() ||
                          each->second.front().order < best->second.front().order)) {
                best = each;
            }
        }
    }
    if (best == box.sends.end()) {
        return kNone;
    }
    const std::uint32_t found = best->second.front().what;
    best->second.pop_front();
    if (best->second.empty()) {
        box.sends.erase(best);
    }
    return found;
}

void Player::begin_send(std::uint32_t who, std::uint32_t number, TimePs at) {
    const Operation& op = operation(who, number);
    const RankState& rank = ranks_[who];
    const std::uint32_t to = first_rank_[rank.job] + op.peer;
    const auto id = static_cast<std::uint32_t>(transfers_.size());
    transfers_.push_back({.from = who,
                          .send = number,
                          .to = to,
                          .bytes = op.bytes,
                          .eager = op.bytes <= options_.eager_bytes,
                          .leaves = op.bytes <= options_.eager_bytes || !options_.rendezvous});
    const Mailbox::Key key{rank.rank, op.tag};
    const std::uint32_t recv = find_recv(boxes_[to], key);
    if (recv == kNone) {
        boxes_[to].sends[key].push_back({posted_++, id});
    }
    if (transfers_[id].leaves) {
        transmit(id, at);
    }
    if (transfers_[id].eager) {
        push(at + options_.message_ps, What::kEnd, who, number);
    }
    if (recv != kNone) {
        join(id, recv, at);
    }
}

void Player::begin_recv(std::uint32_t who, std::uint32_t number, TimePs at) {
    const Operation& op = operation(who, number);
    const Mailbox::Key key{op.peer, op.tag};
    const std::uint32_t transfer = find_send(boxes_[who], key);
    if (transfer != kNone) {
        join(transfer, number, at);
    } else if (op.peer == kAnyRank || op.tag == kAnyTag) {
        boxes_[who].any.push_back({posted_++, number});
    } else {
        boxes_[who].recvs[key].push_back({posted_++, number});
    }
}

void Player::join(std::uint32_t id, std::uint32_t recv, TimePs at) {
    Transfer& transfer = transfers_[id];
    transfer.recv = recv;
    if (!transfer.leaves) {
        transmit(id, at);
    } else if (transfer.delivered) {
        push(at, What::kEnd, transfer.to, recv);
    }
}

void Player::transmit(std::uint32_t id, TimePs at) {
    Transfer& transfer = transfers_[id];
    RankState& from = ranks_[transfer.from];
    const std::uint32_t to_gpu = ranks_[transfer.to].gpu;
    const TimePs start = at + options_.message_ps;
    transfer.started_at = start;
    if (from.gpu == to_gpu) {
        return push(start, What::kDelivered, id);
    }
    const NicFlow flow{places_.end_towards(from.gpu, to_gpu), places_.end_of(to_gpu),
                       transfer.bytes, 0};
    const bool near = places_.share_nvlink(from.gpu, to_gpu);
    if (!near && flow.from != flow.to) {
        from.times.fabric_bytes += transfer.bytes;
        transfer.started_at = when_the_nic_is_free(transfer, flow, start);
        return send(flow, {kNone, id}, transfer.started_at);
    }
    // Over NVLink, or over PCIe between GPUs that share a NIC.
    const Cluster& cluster = places_.cluster();
    from.times.nvlink_bytes += near ? transfer.bytes : 0;
    TimePs& free_at = nvlink_free_at_[from.gpu];
    const double rate = near ? nvlink_rate_ : cluster.pcie.bytes_per_s;
    const double latency_us = near ? cluster.nvlink.latency_us : cluster.pcie.latency_us;
    free_at = std::max(free_at, start) +
              static_cast<TimePs>(static_cast<double>(transfer.bytes) / rate * 1e12);
    push(free_at + static_cast<TimePs>(latency_us * 1e6), What::kDelivered, id);
}

/// Returns when a message leaves that could leave at `start`, and takes the NIC for it.
TimePs Player::when_the_nic_is_free(const Transfer& transfer, const NicFlow& flow, TimePs start) {
    TimePs& free_at = options_.nic_in_order ? nic_free_at_[{flow.from, kNone}]
                                            : nic_free_at_[{transfer.from, transfer.to}];
    const TimePs leaves = std::max(free_at, start);
    const double rate = places_.cluster().nic_bytes_per_s();
    free_at = leaves + static_cast<TimePs>(static_cast<double>(transfer.bytes) / rate * 1e12);
    return leaves;
}

void Player::deliver(std::uint32_t id, TimePs at) {
    Transfer& transfer = transfers_[id];
    transfer.delivered = true;
    const RankState& from = ranks_[transfer.from];
    const RankState& to = ranks_[transfer.to];
    if (options_.keep_flows) {
        flows_.push_back({.job = from.job,
                          .from = from.rank,
                          .to = to.rank,
                          .operation = transfer.send,
                          .bytes = transfer.bytes,
                          .nvlink = places_.share_nvlink(from.gpu, to.gpu),
                          .started_at = transfer.started_at,
                          .delivered_at = at});
    }
    if (transfer.recv != kNone) {
        push(at, What::kEnd, transfer.to, transfer.recv);
    }
}

}  // namespace softib::plan::trace
