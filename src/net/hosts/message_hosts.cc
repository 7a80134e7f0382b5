// SPDX-License-Identifier: BSD-2-Clause
#include "net/hosts/message_hosts.h"

#include <algorithm>

#include "core/base/check.h"
#include "net/plant/fetch.h"

namespace softib::net {

MessageHosts::MessageHosts(const MessageConfig& config) : config_(config) {
    if (config_.window_packets != 0) {
        // An acknowledgement must come before the window is full.
        config_.ack_every = std::clamp(config_.window_packets / 2, 1U, config_.ack_every);
    }
    if (config_.roce) {
        roce_ = std::make_unique<RoceState>(*config_.roce);
        algorithm_ = config_.roce->algorithm;
        flows_ = algorithm_ == nullptr ? nullptr : std::make_unique<Flows>();
        if (algorithm_ != nullptr && algorithm_->ack_every != 0) {
            config_.ack_every = algorithm_->ack_every;
        }
    }
}

void MessageHosts::attach(const Engine& net) {
    lanes_ = net.plant().config().data_vls;
    adapter_of_.resize(net.plant().port_count() + hosts_elsewhere_, kNone);
    std::uint32_t adapters = 0;
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        if (net.plant().connected(port) && !net.plant().is_switch(net.plant().node_of(port))) {
            adapter_of_[port] = adapters++;
        }
    }
    for (std::uint32_t i = 0; i < hosts_elsewhere_; ++i) {
        adapter_of_[net.plant().port_count() + i] = adapters++;
    }
    turns_.resize(std::size_t{adapters} * lanes_);
    timers_set_.resize(adapters);
    lid_of_.resize(adapter_of_.size());
    if (std::max(config_.inject_block_ps, config_.pcie_block_ps) != 0) {
        paced_until_.resize(adapters);
    }
    if (config_.message_gap_ps != 0) {
        next_message_at_.resize(adapters);
    }
    for (std::uint32_t port = 0; config_.context_entries != 0 && port < adapter_of_.size();
         ++port) {
        if (adapter_of_[port] != kNone) {
            contexts_.emplace_back(
                config_.seed + (port < net.plant().port_count() ? net.plant().name_of(port) : 0));
        }
    }
}

std::uint32_t MessageHosts::make_record() {
    std::uint32_t index = free_;
    if (index == kNone) {
        index = static_cast<std::uint32_t>(records_.size());
        SOFTIB_CHECK(index <= kIndexMask);
        records_.emplace_back();
    } else {
        free_ = records_[index].next;
        records_[index] = {};
    }
    return index;
}

/// Sets the fields of a record that both the sender and the receiver of a message know.
void MessageHosts::set_up(const Send& send, Record& record) {
    SOFTIB_CHECK(adapter_of_[send.port] != kNone && adapter_of_[send.to_port] != kNone);
    const std::uint64_t packets =
        std::max<std::uint64_t>((send.bytes + config_.mtu - 1) / config_.mtu, 1);
    SOFTIB_CHECK(packets < kNone);
    lid_of_[send.port] = send.source;
    lid_of_[send.to_port] = send.destination;
    record.tag = send.tag;
    record.port = send.port;
    record.to_port = send.to_port;
    record.packets = static_cast<std::uint32_t>(packets);
    record.connection = send.connection & 0xFFFFFFU;
    record.sl = send.sl & 0xFU;
    record.last_bytes = static_cast<std::uint16_t>(send.bytes - (packets - 1) * config_.mtu);
}

std::uint32_t MessageHosts::post(Engine& net, const Send& send, TimePs at) {
    if (lanes_ == 0) {
        attach(net);
    }
    SOFTIB_CHECK(at >= net.now());
    const std::uint32_t index = make_record();
    Record& record = records_[index];
    set_up(send, record);
    record.unsent = record.unacked = record.packets;
    // If the service level has no lane, any queue does: the engine drops the packets.
    const std::uint8_t lane = net.plant().first_lane(send.port, send.sl);
    record.vl = (lane < lanes_ ? lane : 0U) & 0xFU;
    record.state = send.to_port >= net.plant().port_count() ? kLeaves : std::uint8_t{0};
    ++unfinished_;
    if (roce_ != nullptr) {
        roce_->begin(index);
    }
    if (at > net.now() || send.port == send.to_port) {
        set_timer(net, index, at, Timer::kStart);
    } else {
        start(net, index);
    }
    return index;
}

/// Lets the HCA take up a message: at once, or when message_gap_ps allows it.
void MessageHosts::start(Engine& net, std::uint32_t index) {
    if (!next_message_at_.empty()) {
        TimePs& next = next_message_at_[adapter_of_[records_[index].port]];
        const TimePs at = std::max(next, net.now());
        next = at + config_.message_gap_ps;
        if (at > net.now()) {
            set_timer(net, index, at, Timer::kBegin);
            return;
        }
    }
    begin(net, index);
}

/// Queues a message for its turn; delivers one from a port to itself at once.
void MessageHosts::begin(Engine& net, std::uint32_t index) {
    const Record& record = records_[index];
    if (record.port != record.to_port) {
        enqueue(index, Place::kLast);
        take_turns(net, record.port, record.vl);
        return;
    }
    ++records_[index].references;
    records_[index].received = records_[index].packets;
    tell(index, MessageEvent::kDelivered, net.now());
    end(index, MessageEvent::kAcknowledged, net.now());
    release(index);
}

// Turns.

void MessageHosts::enqueue(std::uint32_t index, Place place) {
    Record& record = records_[index];
    Turns& queue = turns(record.port, record.vl);
    record.state |= kQueued;
    if (queue.head == kNone) {
        record.next = kNone;
        queue.head = queue.tail = index;
    } else if (place == Place::kFirst) {
        record.next = queue.head;
        queue.head = index;
    } else {
        record.next = kNone;
        records_[queue.tail].next = index;
        queue.tail = index;
    }
}

void MessageHosts::pop(Turns& queue) {
    Record& record = records_[queue.head];
    record.state &= static_cast<std::uint8_t>(~kQueued);
    queue.head = record.next;
    if (queue.head == kNone) {
        queue.tail = kNone;
    }
}

/// Lets a message take its turn again if nothing keeps it from that.
void MessageHosts::wake(std::uint32_t index, Place place) {
    const Record& record = records_[index];
    if ((record.state & (kQueued | kHeld | kEnded)) == 0 && may_send(record)) {
        enqueue(index, place);
    }
}

/// Queues the next packet at a port and lane, unless one is queued already.
void MessageHosts::take_turns(Engine& net, std::uint32_t port, std::uint8_t vl) {
    Turns& queue = turns(port, vl);
    while (!queue.lined_up && queue.head != kNone) {
        const std::uint32_t index = queue.head;
        if ((records_[index].state & kEnded) != 0) {
            pop(queue);
            pass_turn(net, index);
            release(index);  // The reference that end() took.
            continue;
        }
        if (!paced_until_.empty() && wait_for_pace(net, port, vl, queue)) {
            return;
        }
        if (flows_ != nullptr && wait_for_flow(net, queue, index)) {
            continue;
        }
        if (contexts_.empty() || fetch_context(net, index)) {
            send_packet(net, queue, index);
        }
    }
}

/// Returns the bytes, from the LRH to the VCRC, of a message's packet with this PSN.
std::uint16_t MessageHosts::wire_bytes(const Record& record, std::uint32_t psn) const {
    const std::uint32_t payload = psn + 1 == record.packets ? record.last_bytes : config_.mtu;
    const std::uint32_t first = psn == 0 ? config_.first_header_bytes : 0U;
    return static_cast<std::uint16_t>((payload + 3U) / 4 * 4 + config_.header_bytes + first);
}

void MessageHosts::address(Packet& packet, std::uint32_t from, std::uint32_t to) const {
    packet.slid = lid_of_[from].value;
    packet.dlid = lid_of_[to].value;
    if (routers_ != nullptr && routers_->apart(from, to)) [[unlikely]] {
        packet.dlid = routers_->gateway(from, to).value;
        packet.bytes = static_cast<std::uint16_t>(packet.bytes + kGrhBytes);
        packet.in_port_or_hop_lmt = kHopLimit;
    }
}

Gid MessageHosts::dgid_of(const Packet& packet) const {
    const Record& record = records_[packet.body & kIndexMask];
    const bool data = packet.body >> kIndexBits == static_cast<std::uint32_t>(Body::kData);
    return routers_->gid(data ? record.to_port : record.port);
}

/// Sends one packet of the first message of a queue.
void MessageHosts::send_packet(Engine& net, Turns& queue, std::uint32_t index) {
    Record& record = records_[index];
    const std::uint32_t psn =
        roce_ != nullptr ? take_psn(index, net.now()) : record.packets - record.unsent;
    const std::uint16_t bytes = wire_bytes(record, psn);
    --record.unsent;
    record.references += (record.state & kLeaves) == 0 ? 1 : 0;
    record.state &= static_cast<std::uint8_t>(~kContext);
    queue.lined_up = true;
    count_in_flight(record, 1);
    if (!may_send(record)) {
        pop(queue);
        record.burst = 0;
    } else if (++record.burst >= config_.burst_packets) {
        record.burst = 0;
        pop(queue);
        enqueue(index, Place::kLast);
    }
    if (!paced_until_.empty()) {
        TimePs& until = paced_until_[adapter_of_[record.port]];
        until =
            std::max(until, net.now()) +
            link::transmit_time(bytes, std::max(config_.inject_block_ps, config_.pcie_block_ps));
    }
    Packet packet{.body = roce_ != nullptr ? roce_body(index, psn) : index,
                  .bytes = bytes,
                  .sl = static_cast<std::uint8_t>(record.sl),
                  .flags = config_.adaptive ? packet_flag::kAdaptive : std::uint8_t{0},
                  .tag = entropy(record)};
    address(packet, record.port, record.to_port);
    net.inject(record.port, packet);
}

/// Returns whether a port may not send yet, and sets a timer for when it may.
bool MessageHosts::wait_for_pace(Engine& net, std::uint32_t port, std::uint8_t vl, Turns& queue) {
    const TimePs until = paced_until_[adapter_of_[port]];
    if (until <= net.now()) {
        return false;
    }
    if (!queue.paced) {
        queue.paced = true;
        net.set_timer(port, until, timers_set_[adapter_of_[port]]++,
                      static_cast<std::uint32_t>(Timer::kPaced) << kIndexBits | vl);
    }
    return true;
}

void MessageHosts::sent(Engine& net, std::uint32_t port, const Packet& packet) {
    if (roce_ != nullptr) {
        RoceState::Body& body = roce_->body(packet);
        if (body.kind == RoceState::Kind::kData || body.kind == RoceState::Kind::kProbe) {
            body.sent_at = net.now();
            const auto vl = static_cast<std::uint8_t>(records_[body.message].vl);
            turns(port, vl).lined_up = false;
            if (flows_ != nullptr) {
                charge_flow(net, body.message, packet.bytes);
            }
            take_turns(net, port, vl);
        }
        return;
    }
    if (packet.body >> kIndexBits != static_cast<std::uint32_t>(Body::kData)) {
        return;
    }
    const std::uint32_t index = packet.body & kIndexMask;
    const std::uint8_t vl = records_[index].vl;
    turns(port, vl).lined_up = false;
    if (flows_ != nullptr) {
        charge_flow(net, index, packet.bytes);
    }
    take_turns(net, port, vl);
}

void MessageHosts::timer(Engine& net, std::uint32_t port, std::uint32_t what) {
    const auto timer = static_cast<Timer>(what >> kIndexBits);
    const std::uint32_t index = what & kIndexMask;
    if (timer == Timer::kPaced) {
        const auto vl = static_cast<std::uint8_t>(index);
        turns(port, vl).paced = false;
        take_turns(net, port, vl);
        return;
    }
    if (timer == Timer::kNews) {
        free_news_.push_back(index);
        hear(net, news_[index]);
        return;
    }
    switch (timer) {
        case Timer::kStart: {
            const std::uint64_t tag = records_[index].tag;
            start(net, index);
            if (listener_ != nullptr) {
                listener_->handle_begin(tag, net.now());
            }
            break;
        }
        case Timer::kBegin:
            begin(net, index);
            break;
        case Timer::kSlowed:
            end_pause(net, index);
            break;
        case Timer::kFetched:
            end_fetch(net, index);
            break;
        case Timer::kRetry:
            roce_ != nullptr ? retry_roce(net, index) : retry(net, index);
            break;
        case Timer::kArrived:
            receive_data(net, index, false);
            break;
        case Timer::kPaced:
        case Timer::kNews:
            break;
    }
    const std::uint8_t vl = records_[index].vl;
    release(index);
    take_turns(net, port, vl);
}

// Arrival.

void MessageHosts::deliver(Engine& net, std::uint32_t, const Packet& packet) {
    if (roce_ != nullptr) {
        deliver_roce(net, packet);
        return;
    }
    const bool data = packet.body >> kIndexBits == static_cast<std::uint32_t>(Body::kData);
    const std::uint32_t number = packet.body & kIndexMask;
    const std::uint32_t index =
        data && !entered_.empty() ? index_here(home_of_lid_[packet.slid].part, number) : number;
    if ((records_[index].state & (data ? kDeaf : kEnded)) == 0) {
        const bool marked = (packet.flags & packet_flag::kFecn) != 0;
        if (!data) {
            receive_answer(net, packet, index);
        } else if (!contexts_.empty() && receiver_misses(records_[index])) {
            if (marked && config_.ack_bytes != 0) {
                inject_answer(net, index, Body::kNotification, true);
            }
            set_timer_at(net, records_[index].to_port, index,
                         net.now() + config_.pcie_round_trip_ps, Timer::kArrived);
        } else {
            receive_data(net, index, marked);
        }
    }
    release(index);
}

void MessageHosts::fetch(const Packet& packet) const {
    if (roce_ == nullptr && entered_.empty()) {
        net::fetch(place_of(records_.data(), packet.body & kIndexMask));
    }
}

void MessageHosts::receive_data(Engine& net, std::uint32_t index, bool marked) {
    Record& record = records_[index];
    if ((record.state & (config_.ack_bytes == 0 ? kDeaf | kEnded : kDeaf)) != 0) {
        return;
    }
    ++record.received;
    const bool last = record.received == record.packets;
    if (config_.ack_bytes == 0) {
        --record.unacked;
    } else if (last || record.received % config_.ack_every == 0) {
        inject_answer(net, index, last ? Body::kLastAck : Body::kAck, marked);
    } else if (marked) {
        inject_answer(net, index, Body::kNotification, true);
    }
    if (last) {
        const bool enters = (record.state & kEnters) != 0;
        tell(index, MessageEvent::kDelivered,
             net.now());  // The listener may send others: records may move.
        if (enters) {
            finish_entered(index);
        } else if (config_.ack_bytes == 0) {
            end(index, MessageEvent::kAcknowledged, net.now());
        }
    } else if (config_.ack_bytes == 0 && config_.window_packets != 0) {
        wake(index, Place::kLast);
        take_turns(net, record.port, record.vl);
    }
}

/// Sends an answer from the receiver to the sender. A notification only carries the BECN, as a CNP
/// does.
void MessageHosts::inject_answer(Engine& net, std::uint32_t index, Body body, bool becn) {
    Record& record = records_[index];
    const bool enters = (record.state & kEnters) != 0;
    ++(enters ? record.unacked : record.references);
    const std::uint32_t number = enters ? record.unsent : index;
    const unsigned flags =
        (config_.adaptive ? packet_flag::kAdaptive : 0U) | (becn ? packet_flag::kBecn : 0U);
    Packet packet{.body = static_cast<std::uint32_t>(body) << kIndexBits | number,
                  .bytes = config_.ack_bytes,
                  .sl = static_cast<std::uint8_t>(record.sl),
                  .flags = static_cast<std::uint8_t>(flags),
                  .tag = kTagged};
    address(packet, record.to_port, record.port);
    net.inject(record.to_port, packet);
}

void MessageHosts::receive_answer(Engine& net, const Packet& packet, std::uint32_t index) {
    Record& record = records_[index];
    if ((packet.flags & packet_flag::kBecn) != 0 && flows_ != nullptr) {
        ++stats_.becns;
        make_flow(net, index).control->handle_notification(net.now());
    }
    const auto body = static_cast<Body>(packet.body >> kIndexBits);
    if (body == Body::kLastAck) {
        end(index, MessageEvent::kAcknowledged, net.now());
    } else if (body == Body::kAck) {
        record.unacked -= config_.ack_every;
        if (config_.window_packets != 0) {
            wake(index, Place::kLast);
            take_turns(net, record.port, record.vl);
        }
    }
}

// Ends.

void MessageHosts::tell(std::uint32_t index, MessageEvent event, TimePs at) {
    if (listener_ != nullptr) {
        listener_->handle_message(records_[index].tag, event, at);
    }
}

/// Ends a message for its sender. The caller must hold a reference and release it afterwards.
void MessageHosts::end(std::uint32_t index, MessageEvent event, TimePs at) {
    Record& record = records_[index];
    if ((record.state & kQueued) != 0) {
        ++record.references;  // take_turns() releases it when the turn of the message comes.
    }
    record.state |= kEnded;
    count_in_flight(record, record.unsent - record.unacked);
    --unfinished_;
    tell(index, event, at);
}

std::vector<Partial> MessageHosts::partial() const {
    std::vector<Partial> found;
    for (std::uint32_t index = 0; index < records_.size(); ++index) {
        const Record& record = records_[index];
        // A record that is free has ended; of a message that leaves, the receiver's part knows.
        if ((record.state & (kEnded | kLeaves)) == 0 && record.received != 0 &&
            record.received < record.packets) {
            found.push_back(
                {record.tag, std::uint64_t{record.packets - record.received - 1} * config_.mtu +
                                 record.last_bytes});
        }
    }
    return found;
}

/// Gives back a reference, and frees the record of a message that has ended with its last one.
void MessageHosts::release(std::uint32_t index) {
    Record& record = records_[index];
    if (--record.references != 0 || (record.state & kEnded) == 0) {
        return;
    }
    if ((record.state & kTroubled) != 0) {
        troubles_.erase(index);
    }
    if (roce_ != nullptr) {
        roce_->end(index);
    }
    if ((record.state & kEnters) != 0) {
        entered_[home_of_lid_[lid_of_[record.port].value].part][record.unsent] = kNone;
    }
    record.next = free_;
    free_ = index;
}

std::size_t MessageHosts::bytes() const {
    return records_.capacity() * sizeof(Record) + turns_.capacity() * sizeof(Turns) +
           adapter_of_.capacity() * sizeof(std::uint32_t) +
           (roce_ == nullptr ? 0 : roce_->bytes()) + (flows_ == nullptr ? 0 : flows_->bytes());
}

}  // namespace softib::net
