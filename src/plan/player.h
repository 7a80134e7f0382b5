// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays traffic on a model and keeps what became of every message. The model is run from outside in
// steps, so that whoever runs it can show progress or stop early.

#include <cstdint>
#include <vector>

#include "net/model.h"
#include "plan/traffic.h"

namespace softib::plan {

struct MessageRecord {
    std::uint32_t traffic = 0;  ///< Which of those that are played.
    std::uint32_t from = 0;     ///< End port.
    std::uint32_t to = 0;       ///< End port.
    std::uint32_t sender = 0;   ///< Of the schedule.
    std::uint64_t bytes = 0;
    TimePs started_at = 0;
    TimePs delivered_at = kNever;
    TimePs ended_at = kNever;  ///< Acknowledged, or given up.
    bool failed = false;
};

/// A message of another player that was delivered here.
struct Delivery {
    std::uint64_t tag = 0;
    TimePs at = 0;
};
/// What one of several players knows.
struct PlayerRecords {
    std::vector<MessageRecord> messages = {};
    std::vector<Delivery> deliveries = {};
};

class Player : public net::MessageListener {
  public:
    /// The model stays the caller's and outlives this. It plays what senders do that the model has:
    /// where models of the parts of a fabric play one traffic together, each has a player with a
    /// number of its own.
    Player(net::Model& model, std::vector<Schedule> schedules, std::uint32_t number = 0);
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;
    ~Player() override;

    /// As Model::run_some.
    bool run_some(TimePs until, std::uint32_t events_max) {
        return model_.run_some(until, events_max);
    }
    const net::Model& model() const { return model_; }
    const std::vector<Schedule>& schedules() const { return schedules_; }
    /// In the order in which they were begun.
    const std::vector<MessageRecord>& messages() const { return messages_; }
    std::uint64_t messages_planned() const;
    std::uint64_t bytes_planned() const;
    std::uint64_t ended() const { return ended_; }

    PlayerRecords records() const { return {messages_, deliveries_}; }
    /// From now on knows what all players of one run know; their records are by number.
    void take_records(std::vector<PlayerRecords> all);

    void handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) override;

  private:
    void begin(std::uint32_t traffic);
    void send_next(std::uint32_t traffic, std::uint32_t sender, TimePs at);
    void pass_on(std::uint64_t tag, TimePs at);

    // A tag is the number of the player, that of the sender if whom it sends to passes on, and that
    // of the message. Senders of all such traffics are numbered through from 1 on.
    static constexpr unsigned kMessageBits = 32;
    static constexpr unsigned kSenderBits = 22;
    static std::uint64_t player_of(std::uint64_t tag) {
        return tag >> (kMessageBits + kSenderBits);
    }
    static std::size_t message_of(std::uint64_t tag) {
        return tag & ((std::uint64_t{1} << kMessageBits) - 1);
    }
    static std::uint32_t sender_of(std::uint64_t tag) {
        return static_cast<std::uint32_t>(tag >> kMessageBits) & ((1U << kSenderBits) - 1);
    }

    net::Model& model_;
    std::vector<Schedule> schedules_ = {};
    std::uint64_t number_ = 0;
    std::vector<std::uint32_t> first_senders_ = {};  ///< By traffic: number of its first sender.
    std::vector<MessageRecord> messages_ = {};
    std::vector<Delivery> deliveries_ = {};  ///< Of messages of other players.
    std::uint64_t ended_ = 0;
};

}  // namespace softib::plan
