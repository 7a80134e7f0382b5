// SPDX-License-Identifier: BSD-2-Clause
// Congestion control of message hosts, on InfiniBand and on Ethernet: the messages of a flow share
// its rate and its window. A message whose flow may not send leaves its queue and waits with the
// others of the flow. The algorithms are those of core/link/congestion_algorithms.h.
#include <algorithm>

#include "net/hosts/message_hosts.h"

namespace softib::net {

namespace {

constexpr unsigned kConnectionKeyBits = 24;
constexpr unsigned kAdapterKeyBits = 20;
constexpr std::uint64_t kOfLevel = std::uint64_t{1} << 63;

}  // namespace

void MessageHosts::control_congestion(std::uint32_t port, const link::InjectionControl& control) {
    if (flows_ == nullptr) {
        algorithm_ = link::find_congestion_algorithm("cca");
        flows_ = std::make_unique<Flows>();
        controls_.emplace_back();
    }
    if (control_of_.size() <= port) {
        control_of_.resize(port + 1, &controls_.front());
    }
    // A manager writes the same into many ports, one after the other.
    if (controls_.size() == 1 || controls_.back() != control) {
        controls_.push_back(control);
    }
    control_of_[port] = &controls_.back();
}

/// Returns the key of the flow that a message belongs to.
Flows::Key MessageHosts::flow_key(const Record& record) {
    const auto sl = static_cast<std::uint8_t>(record.sl);
    if (roce_ == nullptr && control_of(record.port)->by_level) {
        return {kOfLevel | adapter_of_[record.port], sl};
    }
    return {
        (std::uint64_t{adapter_of_[record.port]} << kAdapterKeyBits | adapter_of_[record.to_port])
                << kConnectionKeyBits |
            record.connection,
        sl};
}

/// Returns the flow of a message; nullptr if it has none yet.
Flows::Flow* MessageHosts::find_flow(std::uint32_t index) {
    return flows_->find(flow_key(records_[index]), records_[index].flow);
}

/// Returns the flow of a message, which is made if necessary.
Flows::Flow& MessageHosts::make_flow(const Engine& net, std::uint32_t index) {
    if (Flows::Flow* const known = find_flow(index)) {
        return *known;
    }
    Record& record = records_[index];
    const link::FlowFacts facts{
        .packet_ps = net.plant().transmit_time(record.port,
                                               config_.mtu + std::uint32_t{config_.header_bytes}),
        .round_trip_ps = algorithm_->from_first_packet ? unloaded_round_trip(net, record) : 0,
        .injection = controls_.empty() ? nullptr : &control_of(record.port),
        .sl = static_cast<std::uint8_t>(record.sl)};
    return flows_->make(
        flow_key(record), record.flow,
        algorithm_->make(config_.roce ? config_.roce->congestion : kNoRules, facts));
}

/// Returns the time from the begin of a packet until its ACK has come, over cables that carry
/// nothing else; that of two hops if the tables do not lead to the receiver.
TimePs MessageHosts::unloaded_round_trip(const Engine& net, const Record& record) const {
    const auto one_way = [&](std::uint32_t from, std::uint32_t to, std::uint32_t bytes) {
        TimePs delays = net.plant().delay(from);
        TimePs slowest = net.plant().transmit_time(from, bytes);
        for (std::uint32_t port = from, hops = 0; hops < net.plant().node_count(); ++hops) {
            const std::uint32_t node = net.plant().node_of(net.plant().peer(port));
            if (!net.plant().is_switch(node)) {
                break;
            }
            const std::uint8_t number = net.plant().route(node, lid_of_[to]);
            if (number >= net.plant().ports_of(node) ||
                !net.plant().connected(net.plant().port_of(node, number))) {
                break;
            }
            port = net.plant().port_of(node, number);
            delays += net.plant().delay(port);
            slowest = std::max(slowest, net.plant().transmit_time(port, bytes));
        }
        return delays + slowest;
    };
    return one_way(record.port, record.to_port, config_.mtu + std::uint32_t{config_.header_bytes}) +
           one_way(record.to_port, record.port, config_.ack_bytes);
}

/// Returns whether the next packet of a message is one that was lost: it does not wait for the
/// window, since what was sent behind it may not be acknowledged before it comes.
bool MessageHosts::sends_again(std::uint32_t index) {
    return roce_ != nullptr && !roce_->progress(index).resend.empty();
}

/// Lets a message take its turn before others of its flow, if it waits for the flow.
void MessageHosts::unpark(Flows::Flow& flow, std::uint32_t index) {
    std::uint32_t before = kNone;
    std::uint32_t at = flow.parked_head;
    while (at != kNone && at != index) {
        before = at;
        at = records_[at].next;
    }
    if (at == kNone) {
        return;
    }
    (before == kNone ? flow.parked_head : records_[before].next) = records_[index].next;
    if (flow.parked_tail == index) {
        flow.parked_tail = before;
    }
    records_[index].state &= static_cast<std::uint8_t>(~kHeld);
    wake(index, Place::kFirst);
    release(index);  // The reference that wait_for_flow() took.
}

/// Returns true if the first message of a queue must wait because of its flow. The message then
/// leaves the queue and waits with the others of the flow; in front of them if it sends again what
/// was lost.
bool MessageHosts::wait_for_flow(Engine& net, Turns& queue, std::uint32_t index) {
    Flows::Flow* const flow =
        algorithm_->from_first_packet ? &make_flow(net, index) : find_flow(index);
    const bool full = flow != nullptr && flow->full() && !sends_again(index);
    if (flow == nullptr || (flow->next_at <= net.now() && !full)) {
        return false;
    }
    Record& record = records_[index];
    pop(queue);
    record.state |= kHeld;
    record.burst = 0;
    ++record.references;  // resume_flow() releases it.
    if (flow->parked_head == kNone || sends_again(index)) {
        record.next = flow->parked_head;
        flow->parked_tail = flow->parked_head == kNone ? index : flow->parked_tail;
        flow->parked_head = index;
    } else {
        record.next = kNone;
        records_[flow->parked_tail].next = index;
        flow->parked_tail = index;
    }
    set_flow_timer(net, *flow);
    return true;
}

/// Sets the timer that wakes the first message that waits for a flow, unless it is set, none waits,
/// or they wait for an acknowledgement.
void MessageHosts::set_flow_timer(Engine& net, Flows::Flow& flow) {
    const std::uint32_t first = flow.parked_head;
    if (first != kNone && !flow.timed && (!flow.full() || sends_again(first))) {
        flow.timed = true;
        set_timer(net, first, std::max(flow.next_at, net.now()), Timer::kSlowed);
    }
}

/// Lets a message that waits for its flow take its turn, when the flow may send. The packet that it
/// sends says when the next one may: charge_flow() sets the timer for the others that wait. `port`
/// is the sender's.
void MessageHosts::resume_flow(Engine& net, Flows::Flow& flow, std::uint32_t port) {
    const auto waits_for_room = [&] { return flow.full() && !sends_again(flow.parked_head); };
    bool woken = false;
    while (!woken && flow.parked_head != kNone && flow.next_at <= net.now() && !waits_for_room()) {
        const std::uint32_t first = flow.parked_head;
        const auto vl = static_cast<std::uint8_t>(records_[first].vl);
        flow.parked_head = records_[first].next;
        records_[first].state &= static_cast<std::uint8_t>(~kHeld);
        wake(first, Place::kLast);
        woken = (records_[first].state & kQueued) != 0;
        release(first);
        take_turns(net, port, vl);
    }
    if (!woken) {
        set_flow_timer(net, flow);
    }
}

/// Handles the timer of a flow, which one of its messages has set.
void MessageHosts::end_pause(Engine& net, std::uint32_t index) {
    Flows::Flow& flow = flows_->at(records_[index].flow);
    flow.timed = false;
    resume_flow(net, flow, records_[index].port);
}

/// Sets when a flow may send again, after one of its packets has begun to leave.
void MessageHosts::charge_flow(Engine& net, std::uint32_t index, std::uint32_t packet_bytes) {
    if (Flows::Flow* const flow = find_flow(index)) {
        const TimePs takes = net.plant().transmit_time(records_[index].port, packet_bytes);
        const TimePs delay = flow->control->delay(packet_bytes, takes, net.now());
        flow->next_at = delay == 0 ? 0 : net.now() + takes + delay;
        set_flow_timer(net, *flow);
    }
}

/// Lets the others of a flow go on, after a message has left its queue without sending.
void MessageHosts::pass_turn(Engine& net, std::uint32_t index) {
    if (Flows::Flow* const flow = flows_ == nullptr ? nullptr : find_flow(index)) {
        set_flow_timer(net, *flow);
    }
}

/// Returns the controller of a message's flow; nullptr if it has none yet.
link::Controller* MessageHosts::controller_of(std::uint32_t index) {
    return flows_ == nullptr || records_[index].flow == kNone
               ? nullptr
               : flows_->at(records_[index].flow).control.get();
}

/// Lets the flow of a message go on if its window allows that, after the sender has heard of
/// packets that came or were lost.
void MessageHosts::go_on(Engine& net, std::uint32_t index) {
    if (flows_ == nullptr || !algorithm_->from_first_packet || records_[index].flow == kNone) {
        return;
    }
    Flows::Flow& flow = flows_->at(records_[index].flow);
    if (sends_again(index)) {
        unpark(flow, index);
        take_turns(net, records_[index].port, static_cast<std::uint8_t>(records_[index].vl));
    }
    resume_flow(net, flow, records_[index].port);
}

}  // namespace softib::net
