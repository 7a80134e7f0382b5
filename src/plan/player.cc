// SPDX-License-Identifier: BSD-2-Clause
#include "plan/player.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace softib::plan {

Player::Player(net::Model& model, std::vector<Schedule> schedules, std::uint32_t number)
    : model_(model), schedules_(std::move(schedules)), number_(number) {
    model_.set_listener(this);
    std::uint32_t senders = 1;
    for (const Schedule& schedule : schedules_) {
        first_senders_.push_back(senders);
        senders += schedule.passes_on() ? schedule.sender_count() : 0;
    }
    SOFTIB_CHECK(senders < 1U << kSenderBits);
    for (std::uint32_t traffic = 0; traffic < schedules_.size(); ++traffic) {
        begin(traffic);
    }
}

Player::~Player() {
    model_.set_listener(nullptr);
}

/// Sends the first messages of a traffic: in a closed loop as many as may be under way at once.
void Player::begin(std::uint32_t traffic) {
    Schedule& schedule = schedules_[traffic];
    const bool open = schedule.traffic().rate != 0;
    latest_.emplace_back(open ? schedule.sender_count() : 0);
    const std::uint64_t first =
        open ? 1 : std::min<std::uint64_t>(schedule.outstanding(), schedule.messages_each());
    for (std::uint64_t i = 0; i < first; ++i) {
        for (std::uint32_t sender = 0; sender < schedule.sender_count(); ++sender) {
            if (!model_.has_end(schedule.end_of(sender))) {
                continue;
            }
            if (open) {
                send_until_later(traffic, sender, model_.now());
            } else {
                send_next(traffic, sender, schedule.next_at(sender));
            }
        }
    }
}

/// Sends the next messages of a sender in an open loop, up to the first that begins after `at`.
/// When that begins, the next ones follow: so messages that have not begun take no memory.
void Player::send_until_later(std::uint32_t traffic, std::uint32_t sender, TimePs at) {
    const Schedule& schedule = schedules_[traffic];
    for (TimePs next = at; next <= at && schedule.left(sender) != 0;) {
        next = schedule.next_at(sender);
        latest_[traffic][sender] = messages_.size();
        send_next(traffic, sender, next);
    }
}

void Player::send_next(std::uint32_t traffic, std::uint32_t sender, TimePs at) {
    Schedule& schedule = schedules_[traffic];
    const Planned planned = schedule.next(sender);
    const std::uint64_t known = schedule.passes_on() ? first_senders_[traffic] + sender : 0;
    const std::uint64_t tag = (number_ << kSenderBits | known) << kMessageBits | messages_.size();
    messages_.push_back({.traffic = traffic,
                         .from = schedule.end_of(sender),
                         .to = planned.to,
                         .sender = sender,
                         .bytes = planned.bytes,
                         .started_at = at});
    model_.send({.from = schedule.end_of(sender),
                 .to = planned.to,
                 .bytes = planned.bytes,
                 .tag = tag,
                 .connection = planned.connection,
                 .sl = schedule.traffic().sl},
                at);
}

void Player::handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) {
    if (player_of(tag) != number_) {
        // A receiver's model reports deliveries only; all else is reported to the sender's.
        deliveries_.push_back({tag, at});
        pass_on(tag, at);
        return;
    }
    MessageRecord& message = messages_[message_of(tag)];
    if (event == net::MessageEvent::kDelivered) {
        message.delivered_at = at;
        pass_on(tag, at);
        return;
    }
    message.ended_at = at;
    message.failed = event == net::MessageEvent::kFailed;
    ++ended_;
    const std::uint32_t traffic = message.traffic;
    const std::uint32_t sender = message.sender;
    const Schedule& schedule = schedules_[traffic];
    if (message.failed && schedule.traffic().rate != 0 &&
        latest_[traffic][sender] == message_of(tag)) {
        send_until_later(traffic, sender, at);  // It failed before it began.
    }
    if (schedule.traffic().rate == 0 && !schedule.passes_on() && schedule.left(sender) != 0) {
        send_next(traffic, sender, at);
    }
}

void Player::handle_begin(std::uint64_t tag, TimePs at) {
    const MessageRecord& message = messages_[message_of(tag)];
    if (schedules_[message.traffic].traffic().rate != 0) {
        send_until_later(message.traffic, message.sender, at);
    }
}

void Player::note_partial() {
    for (const net::Partial& each : model_.partial()) {
        if (player_of(each.tag) == number_) {
            messages_[message_of(each.tag)].left = each.left;
        } else {
            deliveries_.push_back({.tag = each.tag, .left = each.left});
        }
    }
}

std::vector<MessageRecord> Player::take_messages() {
    std::erase_if(messages_, [&](const MessageRecord& each) { return !has_begun(each); });
    return std::move(messages_);
}

PlayerRecords Player::records() {
    note_partial();
    return {messages_, deliveries_};
}

/// Sends the next message of a receiver that passes on, now that a message has come to it.
void Player::pass_on(std::uint64_t tag, TimePs at) {
    const std::uint32_t known = sender_of(tag);
    if (known == 0) {
        return;
    }
    // If several traffics have the same first sender, only the last of them has numbered senders.
    const auto after = std::ranges::upper_bound(first_senders_, known);
    const auto traffic = static_cast<std::uint32_t>(after - first_senders_.begin() - 1);
    const Schedule& schedule = schedules_[traffic];
    const std::uint32_t receiver = schedule.following(known - first_senders_[traffic]);
    if (schedule.left(receiver) != 0) {
        send_next(traffic, receiver, at);
    }
}

void Player::take_records(std::vector<PlayerRecords> all) {
    for (const PlayerRecords& each : all) {
        for (const Delivery& delivery : each.deliveries) {
            MessageRecord& message =
                all[player_of(delivery.tag)].messages[message_of(delivery.tag)];
            message.delivered_at = delivery.at;
            message.left = delivery.left;
        }
    }
    messages_.clear();
    for (const PlayerRecords& each : all) {
        messages_.insert(messages_.end(), each.messages.begin(), each.messages.end());
    }
}

std::uint64_t Player::messages_planned() const {
    std::uint64_t sum = 0;
    for (const Schedule& schedule : schedules_) {
        sum += schedule.messages();
    }
    return sum;
}

std::uint64_t Player::bytes_planned() const {
    std::uint64_t sum = 0;
    for (const Schedule& schedule : schedules_) {
        sum += schedule.bytes();
    }
    return sum;
}

}  // namespace softib::plan
