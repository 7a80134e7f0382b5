// SPDX-License-Identifier: BSD-2-Clause
// What happens to messages when packets are lost. A sender hears of it when its timer runs out;
// then it sends again what was lost, or what an acknowledgement that was lost makes the receiver
// repeat. After too many timeouts in a row that brought nothing it gives the message up.
#include "net/hosts/message_hosts.h"

namespace softib::net {

void MessageHosts::dropped(Engine& net, const Packet& packet) {
    if (!is_mine(packet)) {
        ++dropped_unknown_;
        return;
    }
    const std::uint32_t index = packet.body & kIndexMask;
    const auto body = static_cast<Body>(packet.body >> kIndexBits);
    const std::uint32_t port = records_[index].port;
    const std::uint8_t vl = records_[index].vl;
    if (body == Body::kData && packet.in_link == kNone) {
        // It has not left its port.
        turns(port, vl).lined_up = false;
        if (controls_) {
            records_[index].state &= static_cast<std::uint8_t>(~kHeld);
            wake(index, Place::kLast);
        }
    }
    if ((records_[index].state & kEnded) == 0 && body != Body::kNotification) {
        note_loss(net, index, body);
    }
    if (body != Body::kData || (records_[index].state & kLeaves) == 0) {
        release(index);
    }
    take_turns(net, port, vl);
}

void MessageHosts::note_loss(Engine& net, std::uint32_t index, Body body) {
    Record& record = records_[index];
    record.state |= kTroubled;
    Trouble& trouble = troubles_[index];
    if (trouble.received_then != record.received) {
        trouble.received_then = record.received;
        trouble.rounds = 0;
    }
    trouble.packets += body == Body::kData ? 1 : 0;
    trouble.acks += body == Body::kAck ? 1 : 0;
    trouble.last_ack |= body == Body::kLastAck;
    if (!trouble.waits) {
        trouble.waits = true;
        set_timer(net, index, net.now() + config_.timeout_ps, Timer::kRetry);
    }
}

void MessageHosts::retry(Engine& net, std::uint32_t index) {
    if ((records_[index].state & kEnded) != 0) {
        return;
    }
    ++stats_.timeouts;
    Trouble& trouble = troubles_[index];
    trouble.waits = false;
    if (++trouble.rounds > config_.retries) {
        end(index, MessageEvent::kFailed, net.now());
        return;
    }
    records_[index].unsent += trouble.packets;
    const std::uint32_t acks = trouble.acks;
    const bool last_ack = trouble.last_ack;
    trouble.packets = trouble.acks = 0;
    trouble.last_ack = false;
    for (std::uint32_t i = 0; i < acks; ++i) {
        inject_answer(net, index, Body::kAck, false);
    }
    if (last_ack) {
        inject_answer(net, index, Body::kLastAck, false);
    }
    wake(index, Place::kLast);
}

}  // namespace softib::net
