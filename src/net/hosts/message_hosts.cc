// SPDX-License-Identifier: BSD-2-Clause
#include "net/hosts/message_hosts.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::net {

namespace {

/// So that the engine tells what becomes of a packet.
constexpr std::uint8_t kTagged = 1;

}  // namespace

MessageHosts::MessageHosts(const MessageConfig& config) : config_(config) {
    if (config_.window_packets != 0) {
        // A sender asks for an acknowledgement before its window is full.
        config_.ack_every = std::clamp(config_.window_packets / 2, 1U, config_.ack_every);
    }
}

void MessageHosts::attach(const Engine& net) {
    lanes_ = net.config().data_vls;
    adapter_of_.resize(net.port_count() + hosts_elsewhere_, kNone);
    std::uint32_t adapters = 0;
    for (std::uint32_t port = 0; port < net.port_count(); ++port) {
        if (net.connected(port) && !net.is_switch(net.node_of(port))) {
            adapter_of_[port] = adapters++;
        }
    }
    for (std::uint32_t i = 0; i < hosts_elsewhere_; ++i) {
        adapter_of_[net.port_count() + i] = adapters++;
    }
    turns_.resize(std::size_t{adapters} * lanes_);
    timers_set_.resize(adapters);
    lid_of_.resize(adapters);
    if (std::max(config_.inject_block_ps, config_.pcie_block_ps) != 0) {
        paced_until_.resize(adapters);
    }
    if (config_.message_gap_ps != 0) {
        next_message_at_.resize(adapters);
    }
    for (std::uint32_t port = 0; config_.context_entries != 0 && port < adapter_of_.size();
         ++port) {
        if (adapter_of_[port] != kNone) {
            contexts_.emplace_back(config_.seed +
                                   (port < net.port_count() ? net.name_of(port) : 0));
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

/// What sender and receiver know of a message.
void MessageHosts::set_up(const Send& send, Record& record) {
    SOFTIB_CHECK(adapter_of_[send.port] != kNone && adapter_of_[send.to_port] != kNone);
    const std::uint64_t packets =
        std::max<std::uint64_t>((send.bytes + config_.mtu - 1) / config_.mtu, 1);
    SOFTIB_CHECK(packets < kNone);
    lid_of_[adapter_of_[send.port]] = send.source;
    lid_of_[adapter_of_[send.to_port]] = send.destination;
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
    // A level without a lane: the engine refuses its packets, whatever queue they come from.
    const std::uint8_t lane = net.first_lane(send.port, send.sl);
    record.vl = (lane < lanes_ ? lane : 0U) & 0xFU;
    record.state = send.to_port >= net.port_count() ? kLeaves : std::uint8_t{0};
    ++unfinished_;
    if (at > net.now() || send.port == send.to_port) {
        set_timer(net, index, at, Timer::kStart);
    } else {
        start(net, index);
    }
    return index;
}

/// The adapter takes up messages one after the other, no faster than its rate allows.
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

void MessageHosts::take_turns(Engine& net, std::uint32_t port, std::uint8_t vl) {
    Turns& queue = turns(port, vl);
    while (!queue.lined_up && queue.head != kNone) {
        const std::uint32_t index = queue.head;
        if ((records_[index].state & kEnded) != 0) {
            pop(queue);
            release(index);  // See end().
            continue;
        }
        if (!paced_until_.empty() && wait_for_pace(net, port, vl, queue)) {
            return;
        }
        if (contexts_.empty() || fetch_context(net, index)) {
            send_packet(net, queue, index);
        }
    }
}

/// From the LRH to the VCRC, of the next packet.
std::uint16_t MessageHosts::wire_bytes(const Record& record) const {
    const std::uint32_t payload = record.unsent == 1 ? record.last_bytes : config_.mtu;
    const std::uint32_t first = record.unsent == record.packets ? config_.first_header_bytes : 0U;
    return static_cast<std::uint16_t>((payload + 3U) / 4 * 4 + config_.header_bytes + first);
}

/// The first message of the queue sends one packet.
void MessageHosts::send_packet(Engine& net, Turns& queue, std::uint32_t index) {
    Record& record = records_[index];
    const std::uint16_t bytes = wire_bytes(record);
    --record.unsent;
    record.references += (record.state & kLeaves) == 0 ? 1 : 0;
    record.state &= static_cast<std::uint8_t>(~kContext);
    queue.lined_up = true;
    if (controls_) {
        pop(queue);
        record.state |= kHeld;  // Until it is known how long it must wait.
    } else if (!may_send(record)) {
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
    net.inject(record.port, {.body = index,
                             .dlid = lid_of_[adapter_of_[record.to_port]].value,
                             .slid = lid_of_[adapter_of_[record.port]].value,
                             .bytes = bytes,
                             .sl = static_cast<std::uint8_t>(record.sl),
                             .flags = config_.adaptive ? packet_flag::kAdaptive : std::uint8_t{0},
                             .tag = kTagged});
}

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
    if (packet.body >> kIndexBits != static_cast<std::uint32_t>(Body::kData)) {
        return;
    }
    const std::uint32_t index = packet.body & kIndexMask;
    const std::uint8_t vl = records_[index].vl;
    turns(port, vl).lined_up = false;
    if (controls_) {
        slow_down(net, index, packet.bytes);
    }
    take_turns(net, port, vl);
}

void MessageHosts::slow_down(Engine& net, std::uint32_t index, std::uint32_t packet_bytes) {
    Record& record = records_[index];
    const TimePs takes = net.transmit_time(record.port, packet_bytes);
    const TimePs delay = record.injection.delay(reaction_.rule, reaction_.table, takes, net.now());
    if (delay != 0) {
        set_timer(net, index, net.now() + takes + delay, Timer::kSlowed);
        return;
    }
    record.state &= static_cast<std::uint8_t>(~kHeld);
    wake(index, Place::kLast);
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
    switch (timer) {
        case Timer::kStart:
            start(net, index);
            break;
        case Timer::kBegin:
            begin(net, index);
            break;
        case Timer::kSlowed:
            records_[index].state &= static_cast<std::uint8_t>(~kHeld);
            wake(index, Place::kLast);
            break;
        case Timer::kFetched:
            end_fetch(net, index);
            break;
        case Timer::kRetry:
            retry(net, index);
            break;
        case Timer::kArrived:
            receive_data(net, index, false);
            break;
        case Timer::kPaced:
            break;
    }
    const std::uint8_t vl = records_[index].vl;
    release(index);
    take_turns(net, port, vl);
}

// Arrival.

void MessageHosts::deliver(Engine& net, std::uint32_t, const Packet& packet) {
    const bool data = packet.body >> kIndexBits == static_cast<std::uint32_t>(Body::kData);
    const std::uint32_t index =
        data && !entered_.empty() ? index_here(packet) : packet.body & kIndexMask;
    if ((records_[index].state & kEnded) == 0) {
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

void MessageHosts::receive_data(Engine& net, std::uint32_t index, bool marked) {
    Record& record = records_[index];
    if ((record.state & kEnded) != 0) {
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
        tell(index, MessageEvent::kDelivered, net.now());
        if ((record.state & kEnters) != 0) {
            finish_entered(index);
        } else if (config_.ack_bytes == 0) {
            end(index, MessageEvent::kAcknowledged, net.now());
        }
    } else if (config_.ack_bytes == 0 && config_.window_packets != 0) {
        wake(index, Place::kLast);
        take_turns(net, record.port, record.vl);
    }
}

/// From the receiver to the sender. A notification only carries the BECN, as a CNP does.
void MessageHosts::inject_answer(Engine& net, std::uint32_t index, Body body, bool becn) {
    Record& record = records_[index];
    const bool enters = (record.state & kEnters) != 0;
    ++(enters ? record.unacked : record.references);
    const std::uint32_t number = enters ? record.unsent : index;
    const unsigned flags =
        (config_.adaptive ? packet_flag::kAdaptive : 0U) | (becn ? packet_flag::kBecn : 0U);
    net.inject(record.to_port, {.body = static_cast<std::uint32_t>(body) << kIndexBits | number,
                                .dlid = lid_of_[adapter_of_[record.port]].value,
                                .slid = lid_of_[adapter_of_[record.to_port]].value,
                                .bytes = config_.ack_bytes,
                                .sl = static_cast<std::uint8_t>(record.sl),
                                .flags = static_cast<std::uint8_t>(flags),
                                .tag = kTagged});
}

void MessageHosts::receive_answer(Engine& net, const Packet& packet, std::uint32_t index) {
    Record& record = records_[index];
    if ((packet.flags & packet_flag::kBecn) != 0 && controls_) {
        ++stats_.becns;
        record.injection.handle_becn(reaction_.rule, reaction_.table, net.now());
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

/// Somebody has a reference and gives it back afterwards.
void MessageHosts::end(std::uint32_t index, MessageEvent event, TimePs at) {
    Record& record = records_[index];
    if ((record.state & kQueued) != 0) {
        ++record.references;  // Until its turn comes.
    }
    record.state |= kEnded;
    --unfinished_;
    tell(index, event, at);
}

void MessageHosts::release(std::uint32_t index) {
    Record& record = records_[index];
    if (--record.references != 0 || (record.state & kEnded) == 0) {
        return;
    }
    if ((record.state & kTroubled) != 0) {
        troubles_.erase(index);
    }
    record.next = free_;
    free_ = index;
}

std::size_t MessageHosts::bytes() const {
    return records_.capacity() * sizeof(Record) + turns_.capacity() * sizeof(Turns) +
           adapter_of_.capacity() * sizeof(std::uint32_t);
}

}  // namespace softib::net
