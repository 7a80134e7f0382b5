// SPDX-License-Identifier: BSD-2-Clause
// What happens to messages when packets are lost. A sender learns of losses when its timer runs
// out. Then it sends again what was lost, or has the receiver repeat an acknowledgement that was
// lost. After too many timeouts in a row without progress it gives the message up.
//
// The ends of a message may be in two parts of a fabric, so they do not share what they know but
// hear it as news. The place of a loss tells the receiver (kLossSeen), the receiver tells the
// sender what it had by then (kLossHeard), and the sender asks the receiver for an answer (kRepeat)
// or tells it that it gives up (kGivenUp). News take as long as the shortest cable. The timer of a
// sender counts from the loss.
#include <algorithm>

#include "net/hosts/message_hosts.h"

namespace softib::net {

void MessageHosts::dropped(Engine& net, const Packet& packet, TimePs at) {
    if (roce_ != nullptr) {
        dropped_roce(net, packet);
        return;
    }
    const std::uint32_t index = packet.body & kIndexMask;
    const auto body = static_cast<Body>(packet.body >> kIndexBits);
    const bool data = body == Body::kData;
    News news{.at = at + config_.news_ps, .number = index, .body = body};
    if (entered_.empty()) {
        news.port = records_[index].port;
        news.to_port = records_[index].to_port;
    } else {
        news.port = home_of_lid_[data ? packet.slid : packet.dlid].port;
        news.to_port = home_of_lid_[data ? packet.dlid : packet.slid].port;
    }
    spread(net, news);
    if (data && packet.in_link == kNone) {
        // The packet has not left its port, which is in this part.
        const std::uint8_t vl = records_[index].vl;
        turns(news.port, vl).lined_up = false;
        take_turns(net, news.port, vl);
    }
}

// News.

/// Sends news to the end that must hear it, here or in another part.
void MessageHosts::spread(Engine& net, const News& news) {
    if (news.target() >= net.plant().port_count()) {
        news_out_.push_back(news);
    } else {
        take_news(net, news);
    }
}

void MessageHosts::take_news(Engine& net, const News& news) {
    std::uint32_t place = 0;
    if (free_news_.empty()) {
        place = static_cast<std::uint32_t>(news_.size());
        news_.push_back(news);
    } else {
        place = free_news_.back();
        free_news_.pop_back();
        news_[place] = news;
    }
    // Losses that are heard at one moment come in the order in which their messages were begun.
    const std::uint32_t order =
        news.kind == News::Kind::kLossHeard
            ? News::kFirst | static_cast<std::uint32_t>(records_[news.number].tag & INT32_MAX)
            : news.order;
    net.set_timer(news.target(), news.at, order,
                  static_cast<std::uint32_t>(Timer::kNews) << kIndexBits | place);
}

/// Returns the number of the receiver's record of a message; kNone if the receiver has no record
/// any more, because all of the message has come.
std::uint32_t MessageHosts::index_at_receiver(const News& news) const {
    return entered_.empty() ? news.number
                            : index_here(home_of_lid_[lid_of_[news.port].value].part, news.number);
}

void MessageHosts::hear(Engine& net, News news) {
    switch (news.kind) {
        case News::Kind::kLossSeen: {
            const std::uint32_t index = index_at_receiver(news);
            news.received = index == kNone ? kNone : records_[index].received;
            news.kind = News::Kind::kLossHeard;
            news.at += config_.news_ps;
            spread(net, news);
            break;
        }
        case News::Kind::kLossHeard:
            hear_of_loss(net, news);
            break;
        case News::Kind::kRepeat:
            repeat_answer(net, news);
            break;
        case News::Kind::kGivenUp:
            if (const std::uint32_t index = index_at_receiver(news); index != kNone) {
                records_[index].state |= kDeaf;
            }
            if (news.port < net.plant().port_count()) {
                release(news.number);
            }
            break;
    }
}

/// Handles the news, at the sender, that a packet was lost.
void MessageHosts::hear_of_loss(Engine& net, const News& news) {
    const std::uint8_t state = records_[news.number].state;
    if ((state & kEnded) == 0 && news.body != Body::kNotification) {
        note_loss(net, news);
    }
    if (news.body != Body::kData || (state & kLeaves) == 0) {
        release(news.number);  // The reference of the lost packet.
    }
}

void MessageHosts::note_loss(Engine& net, const News& news) {
    Record& record = records_[news.number];
    record.state |= kTroubled;
    Trouble& trouble = troubles_[news.number];
    const std::uint32_t received = news.received == kNone ? record.packets : news.received;
    if (trouble.received_then != received) {
        trouble.received_then = received;
        trouble.rounds = 0;
    }
    trouble.packets += news.body == Body::kData ? 1 : 0;
    trouble.acks += news.body == Body::kAck ? 1 : 0;
    trouble.last_ack |= news.body == Body::kLastAck;
    if (!trouble.waits) {
        trouble.waits = true;
        const TimePs lost_at = news.at - 2 * config_.news_ps;
        set_timer(net, news.number, std::max(net.now(), lost_at + config_.timeout_ps),
                  Timer::kRetry);
    }
}

// The sender's timer.

void MessageHosts::retry(Engine& net, std::uint32_t index) {
    if ((records_[index].state & kEnded) != 0) {
        return;
    }
    ++stats_.timeouts;
    Trouble& trouble = troubles_[index];
    trouble.waits = false;
    if (++trouble.rounds > config_.retries) {
        give_up(net, index);
        return;
    }
    records_[index].unsent += trouble.packets;
    stats_.resent += trouble.packets;
    for (std::uint32_t i = 0; i < trouble.acks; ++i) {
        ask_to_repeat(net, index, Body::kAck);
    }
    if (trouble.last_ack) {
        ask_to_repeat(net, index, Body::kLastAck);
    }
    trouble.packets = trouble.acks = 0;
    trouble.last_ack = false;
    wake(index, Place::kLast);
}

void MessageHosts::ask_to_repeat(Engine& net, std::uint32_t index, Body body) {
    constexpr unsigned kCountBits = 15;
    Record& record = records_[index];
    ++record.references;  // For the answer.
    // Requests of one moment come by sender, and each sender's in the order in which it asked.
    const std::uint32_t count = timers_set_[adapter_of_[record.port]]++ & ((1U << kCountBits) - 1);
    spread(net,
           {.at = net.now() + config_.news_ps,
            .port = record.port,
            .to_port = record.to_port,
            .number = index,
            .order = News::kFirst | std::uint32_t{lid_of_[record.port].value} << kCountBits | count,
            .body = body,
            .kind = News::Kind::kRepeat,
            .sl = static_cast<std::uint8_t>(record.sl)});
}

/// Sends an answer again. All that it needs is in the news: the receiver may have forgotten the
/// message.
void MessageHosts::repeat_answer(Engine& net, const News& news) {
    Packet packet{.body = static_cast<std::uint32_t>(news.body) << kIndexBits | news.number,
                  .bytes = config_.ack_bytes,
                  .sl = news.sl,
                  .flags = config_.adaptive ? packet_flag::kAdaptive : std::uint8_t{0},
                  .tag = kTagged};
    address(packet, news.to_port, news.port);
    net.inject(news.to_port, packet);
}

void MessageHosts::give_up(Engine& net, std::uint32_t index) {
    const Record& record = records_[index];
    const News news{.at = net.now() + config_.news_ps,
                    .port = record.port,
                    .to_port = record.to_port,
                    .number = index,
                    .kind = News::Kind::kGivenUp};
    // Packets of the message may be anywhere. If they are not counted, because it leaves this part,
    // its number is never used again.
    constexpr std::uint32_t kForEver = 1U << 30;
    records_[index].references += (record.state & kLeaves) != 0 ? kForEver : 1;
    end(index, MessageEvent::kFailed, net.now());
    spread(net, news);
}

}  // namespace softib::net
