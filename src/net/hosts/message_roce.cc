// SPDX-License-Identifier: BSD-2-Clause
// Messages over RoCEv2. Unlike on InfiniBand, switches drop packets as a matter of course. So
// packets have PSNs, and both ends do after a loss what RC does: the receiver asks for what it
// misses once it sees a gap, and a timeout of the sender finds losses that no later packet shows.
//
// With go-back-N the receiver takes packets in order only: all packets after a gap are thrown away,
// and sent again. With selective repeat the receiver keeps them and asks for each gap once, and
// only these packets are sent again. After a timeout the sender sends a probe, which the receiver
// answers with all that has come.
//
// A timer is set only after a loss, so a run without losses has none.
#include <algorithm>
#include <utility>

#include "net/hosts/message_hosts.h"

namespace softib::net {

namespace {

constexpr unsigned kConnectionKeyBits = 24;
constexpr unsigned kAdapterKeyBits = 20;

}  // namespace

/// Returns the tag of a message's packets: what the hash units of switches see of its connection.
std::uint8_t MessageHosts::entropy(const Record& record) const {
    constexpr std::uint32_t kPorts = 255U - kTagged;
    return static_cast<std::uint8_t>(kTagged + (roce_ != nullptr && roce_->config().by_connection
                                                    ? record.connection % kPorts
                                                    : 0U));
}

std::uint64_t MessageHosts::connection_key(const Record& record) const {
    return (std::uint64_t{adapter_of_[record.port]} << kAdapterKeyBits |
            adapter_of_[record.to_port])
               << kConnectionKeyBits |
           record.connection;
}

// The sender.

/// Brings the counts by which messages take turns up to date.
void MessageHosts::recount(std::uint32_t index) {
    const RoceState::Progress& progress = roce_->progress(index);
    Record& record = records_[index];
    record.unsent = record.packets - progress.next + progress.resend.count();
    record.unacked = record.packets - progress.acked;
}

/// Returns the PSN of the packet that a message sends now.
std::uint32_t MessageHosts::take_psn(std::uint32_t index, TimePs now) {
    RoceState::Progress& progress = roce_->progress(index);
    progress.moved_at = now;
    const std::uint32_t psn =
        progress.resend.empty() ? progress.next++ : progress.resend.take_first();
    stats_.resent += psn < progress.high ? 1 : 0;
    progress.high = std::max(progress.high, psn + 1);
    return psn;
}

std::uint32_t MessageHosts::roce_body(std::uint32_t index, std::uint32_t psn) {
    const bool probes = std::exchange(roce_->progress(index).probes, false);
    return roce_->make_body({.message = index,
                             .psn = psn,
                             .kind = probes ? RoceState::Kind::kProbe : RoceState::Kind::kData});
}

/// Returns true if the first message of a queue must wait because of the rate of its connection.
/// The message then leaves the queue and waits with the others of its connection, which share the
/// rate.
bool MessageHosts::wait_for_rate(Engine& net, Turns& queue, std::uint32_t index) {
    Record& record = records_[index];
    RoceState::Connection* const connection =
        roce_->find(connection_key(record), roce_->progress(index));
    if (connection == nullptr || connection->next_at <= net.now()) {
        return false;
    }
    pop(queue);
    record.state |= kHeld;
    record.burst = 0;
    ++record.references;  // resume_rate() releases it.
    record.next = kNone;
    (connection->parked_head == kNone ? connection->parked_head
                                      : records_[connection->parked_tail].next) = index;
    connection->parked_tail = index;
    if (!connection->timed) {
        connection->timed = true;
        set_timer(net, index, connection->next_at, Timer::kSlowed);
    }
    return true;
}

/// Lets a message that waits for the rate of its connection take its turn, when the time for that
/// has come. Sets a timer again if others wait.
void MessageHosts::resume_rate(Engine& net, std::uint32_t index) {
    RoceState::Connection& connection =
        roce_->make(connection_key(records_[index]), roce_->progress(index));
    connection.timed = false;
    bool woken = false;
    while (!woken && connection.parked_head != kNone && connection.next_at <= net.now()) {
        const std::uint32_t first = connection.parked_head;
        const auto vl = static_cast<std::uint8_t>(records_[first].vl);
        connection.parked_head = records_[first].next;
        records_[first].state &= static_cast<std::uint8_t>(~kHeld);
        wake(first, Place::kLast);
        woken = (records_[first].state & kQueued) != 0;
        release(first);
        take_turns(net, records_[index].port, vl);
    }
    if (connection.parked_head != kNone && !connection.timed) {
        connection.timed = true;
        const TimePs takes = net.plant().transmit_time(records_[index].port, config_.mtu);
        set_timer(net, connection.parked_head, std::max(connection.next_at, net.now() + takes),
                  Timer::kSlowed);
    }
}

/// Sets when a connection may send again, after one of its packets has begun to leave.
void MessageHosts::charge_rate(Engine& net, std::uint32_t index, std::uint32_t packet_bytes) {
    RoceState::Connection* const connection =
        roce_->find(connection_key(records_[index]), roce_->progress(index));
    if (connection != nullptr) {
        const TimePs takes = net.plant().transmit_time(records_[index].port, packet_bytes);
        const TimePs delay =
            connection->rate.delay(roce_->config().dcqcn, packet_bytes, takes, net.now());
        connection->next_at = delay == 0 ? 0 : net.now() + takes + delay;
    }
}

void MessageHosts::handle_ack(Engine& net, std::uint32_t index, std::uint32_t psn) {
    RoceState::Progress& progress = roce_->progress(index);
    if (psn <= progress.acked) {
        return;
    }
    progress.acked = psn;
    progress.next = std::max(progress.next, psn);
    progress.resend.drop_below(psn);
    progress.rounds = 0;
    progress.moved_at = net.now();
    recount(index);
    if (psn == records_[index].packets) {
        end(index, MessageEvent::kAcknowledged, net.now());
    }
}

void MessageHosts::handle_nak(Engine& net, std::uint32_t index, const RoceState::Body& body) {
    if (body.psn < roce_->progress(index).acked && !roce_->config().selective) {
        return;  // The packet was sent again since, after a timeout.
    }
    if (!roce_->config().selective) {
        handle_ack(net, index, body.psn);
    }
    RoceState::Progress& progress = roce_->progress(index);
    if (roce_->config().selective) {
        progress.resend.add(body.psn, body.psn + body.count);
        progress.resend.drop_below(progress.acked);
    } else {
        progress.next = std::min(progress.next, body.psn);
    }
    progress.moved_at = net.now();
    recount(index);
}

/// Handles the answer to a probe, after which the sender knows all that has come: the rest of what
/// was sent is lost.
void MessageHosts::handle_status(Engine& net, std::uint32_t index, std::uint32_t psn) {
    handle_ack(net, index, psn);
    if ((records_[index].state & kEnded) != 0) {
        return;
    }
    RoceState::Progress& progress = roce_->progress(index);
    progress.resend = {};
    progress.came.for_each_gap(
        std::max(progress.acked, progress.expected), progress.high,
        [&](std::uint32_t first, std::uint32_t last) { progress.resend.add(first, last); });
    recount(index);
}

void MessageHosts::receive_roce_answer(Engine& net, const RoceState::Body& body) {
    const std::uint32_t index = body.message;
    switch (body.kind) {
        case RoceState::Kind::kAck:
            handle_ack(net, index, body.psn);
            break;
        case RoceState::Kind::kNak:
            handle_nak(net, index, body);
            break;
        case RoceState::Kind::kStatus:
            handle_status(net, index, body.psn);
            break;
        case RoceState::Kind::kNotification:
            ++stats_.becns;
            roce_->make(connection_key(records_[index]), roce_->progress(index))
                .rate.handle_notification(roce_->config().dcqcn, net.now());
            return;
        case RoceState::Kind::kData:
        case RoceState::Kind::kProbe:
            return;
    }
    wake(index, Place::kLast);
    take_turns(net, records_[index].port, static_cast<std::uint8_t>(records_[index].vl));
}

/// Checks at a timer whether a message has made progress during a timeout. If not, sends the first
/// packet that is not acknowledged again, and with go-back-N all behind it.
void MessageHosts::retry_roce(Engine& net, std::uint32_t index) {
    RoceState::Progress& progress = roce_->progress(index);
    progress.waits = false;
    if ((records_[index].state & kEnded) != 0 || progress.acked == progress.high) {
        return;
    }
    if (net.now() >= progress.moved_at + config_.timeout_ps) {
        ++stats_.timeouts;
        if (++progress.rounds > config_.retries) {
            end(index, MessageEvent::kFailed, net.now());
            return;
        }
        progress.moved_at = net.now();
        progress.probes = true;
        if (roce_->config().selective) {
            progress.resend.add(progress.acked, progress.acked + 1);
        } else {
            progress.next = progress.acked;
        }
        recount(index);
        wake(index, Place::kLast);
    }
    watch(net, index, progress.moved_at + config_.timeout_ps);
}

/// Sets a timer that will look for progress, unless one is set.
void MessageHosts::watch(Engine& net, std::uint32_t index, TimePs at) {
    if (!roce_->progress(index).waits) {
        roce_->progress(index).waits = true;
        set_timer(net, index, at, Timer::kRetry);
    }
}

void MessageHosts::dropped_roce(Engine& net, const Packet& packet) {
    const RoceState::Body body = roce_->take_body(packet);
    const std::uint32_t index = body.message;
    const std::uint32_t port = records_[index].port;
    const auto vl = static_cast<std::uint8_t>(records_[index].vl);
    const bool data = body.kind == RoceState::Kind::kData || body.kind == RoceState::Kind::kProbe;
    if (data && packet.in_link == kNone) {
        turns(port, vl).lined_up = false;  // The packet has not left its port.
    }
    if ((records_[index].state & kEnded) == 0 && body.kind != RoceState::Kind::kNotification) {
        watch(net, index, net.now() + config_.timeout_ps);
    }
    release(index);
    take_turns(net, port, vl);
}

// The receiver.

void MessageHosts::deliver_roce(Engine& net, const Packet& packet) {
    const RoceState::Body body = roce_->take_body(packet);
    if ((records_[body.message].state & kEnded) == 0) {
        const bool marked = (packet.flags & packet_flag::kFecn) != 0;
        if (body.kind == RoceState::Kind::kData || body.kind == RoceState::Kind::kProbe) {
            if (!contexts_.empty()) {
                // A miss is only counted. A packet that waited for its context would arrive behind
                // its successors, which would ask for it as if it were lost.
                receiver_misses(records_[body.message]);
            }
            receive_roce_data(net, body, marked);
        } else {
            receive_roce_answer(net, body);
        }
    }
    release(body.message);
}

void MessageHosts::answer_roce(Engine& net, const RoceState::Body& body) {
    Record& record = records_[body.message];
    ++record.references;
    const bool notifies = body.kind == RoceState::Kind::kNotification;
    net.inject(record.to_port,
               {.body = roce_->make_body(body),
                .dlid = lid_of_[record.port].value,
                .slid = lid_of_[record.to_port].value,
                .bytes = notifies ? kRoceNotificationBytes : config_.ack_bytes,
                .sl = static_cast<std::uint8_t>(record.sl),
                .flags = config_.adaptive ? packet_flag::kAdaptive : std::uint8_t{0},
                .tag = entropy(record)});
}

/// Sends a CNP to the sender, unless one was sent a moment ago (notification_gap_ps).
void MessageHosts::notify(Engine& net, std::uint32_t index) {
    RoceState::Connection& connection =
        roce_->make(connection_key(records_[index]), roce_->progress(index));
    if (net.now() >= connection.notification_after) {
        connection.notification_after = net.now() + roce_->config().dcqcn.notification_gap_ps;
        answer_roce(net, {.message = index, .kind = RoceState::Kind::kNotification});
    }
}

void MessageHosts::receive_roce_data(Engine& net, const RoceState::Body& body, bool marked) {
    const std::uint32_t index = body.message;
    RoceState::Progress& progress = roce_->progress(index);
    const bool selective = roce_->config().selective;
    if (marked && roce_->config().reacts) {
        notify(net, index);
    }
    const std::uint32_t before = progress.expected;
    if (body.psn == before) {
        progress.asked = false;
        progress.expected = progress.came.first_missing(before + 1);
        progress.came.drop_below(progress.expected);
        records_[index].received = progress.expected;
    } else if (body.psn > before && !progress.came.contains(body.psn)) {
        ask_again(net, index, body.psn);
    } else {
        ++stats_.duplicates;
    }
    const std::uint32_t now_expected = progress.expected;
    const bool last = now_expected == records_[index].packets;
    const bool due = body.psn < now_expected &&
                     (last || now_expected / config_.ack_every != before / config_.ack_every);
    if (body.kind == RoceState::Kind::kProbe) {
        const bool all = selective && !last;
        answer_roce(net, {.message = index,
                          .psn = now_expected,
                          .kind = all ? RoceState::Kind::kStatus : RoceState::Kind::kAck});
    } else if (due && now_expected != before) {
        answer_roce(net, {.message = index, .psn = now_expected, .kind = RoceState::Kind::kAck});
    }
    if (last && now_expected != before) {
        tell(index, MessageEvent::kDelivered, net.now());
    }
}

/// Asks for the packets that are missing before `psn`, which has come too early.
void MessageHosts::ask_again(Engine& net, std::uint32_t index, std::uint32_t psn) {
    RoceState::Progress& progress = roce_->progress(index);
    const RoceConfig& config = roce_->config();
    if (!config.selective) {
        // The packet is thrown away. The sender's timer is set, as the NAK may come too late if
        // packets overtook each other.
        watch(net, index, net.now() + config_.timeout_ps);
        if (!progress.asked) {
            progress.asked = true;
            answer_roce(
                net, {.message = index, .psn = progress.expected, .kind = RoceState::Kind::kNak});
        }
        return;
    }
    progress.came.add(psn, psn + 1);
    const std::uint32_t from = std::max(progress.expected, progress.named);
    const std::uint32_t lost_below = psn - std::min(psn, config.reorder_packets);
    if (lost_below <= from) {
        return;
    }
    progress.named = lost_below;
    progress.came.for_each_gap(from, lost_below, [&](std::uint32_t first, std::uint32_t last) {
        answer_roce(
            net,
            {.message = index, .psn = first, .count = last - first, .kind = RoceState::Kind::kNak});
    });
}

}  // namespace softib::net
