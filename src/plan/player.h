// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays traffic on a model of the network and records what became of every message. The caller runs
// the model in steps, so that it can show progress or stop early.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "net/model.h"
#include "plan/traffic.h"

namespace softib::plan {

struct MessageRecord {
    std::uint32_t traffic = 0;  ///< Position of its schedule among those that are played.
    std::uint32_t from = 0;     ///< Sending end port.
    std::uint32_t to = 0;       ///< Receiving end port.
    std::uint32_t sender = 0;   ///< Number of the sender in the schedule.
    std::uint64_t bytes = 0;
    TimePs started_at = 0;
    TimePs delivered_at = kNever;
    TimePs ended_at = kNever;   ///< When the sender had its acknowledgement, or gave up.
    std::uint64_t left = kAll;  ///< Bytes that had not come at the end of the run; kAll: none came.
    bool failed = false;

    static constexpr std::uint64_t kAll = UINT64_MAX;
    /// Returns the bytes that the receiver has.
    std::uint64_t arrived() const {
        return delivered_at != kNever ? bytes : bytes - std::min(bytes, left);
    }
};

/// What came, to an end port of this player's model, of a message that another player sent.
struct Delivery {
    std::uint64_t tag = 0;
    TimePs at = kNever;      ///< When all of it had come.
    std::uint64_t left = 0;  ///< With kNever: bytes that had not come at the end of the run.
};
/// What one of several players has recorded.
struct PlayerRecords {
    std::vector<MessageRecord> messages = {};
    std::vector<Delivery> deliveries = {};
};

class Player : public net::MessageListener {
  public:
    /// Begins the schedules on a model, which the caller owns and which must outlive the player.
    /// Only senders whose end port the model has take part: where models of parts of a fabric play
    /// one traffic together, each of them has a player with a number of its own.
    Player(net::Model& model, std::vector<Schedule> schedules, std::uint32_t number = 0);
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;
    ~Player() override;

    /// Runs the model, as Model::run_some does.
    bool run_some(TimePs until, std::uint32_t events_max) {
        return model_.run_some(until, events_max);
    }
    const net::Model& model() const { return model_; }
    const std::vector<Schedule>& schedules() const { return schedules_; }
    /// Returns all messages in the order in which they were begun.
    const std::vector<MessageRecord>& messages() const { return messages_; }
    std::uint64_t messages_planned() const;
    std::uint64_t bytes_planned() const;
    /// Returns the number of messages that were acknowledged or given up.
    std::uint64_t ended() const { return ended_; }

    /// Notes what has come of messages that are under way at the end of the run.
    void note_partial();
    /// Gives all messages that have begun away, after the run.
    std::vector<MessageRecord> take_messages();

    /// Returns what this player has recorded, at the end of the run.
    PlayerRecords records();
    /// Replaces the player's messages by those of all players of the run. `all` has the records of
    /// each player at the player's number.
    void take_records(std::vector<PlayerRecords> all);

    /// Returns whether a message has begun.
    bool has_begun(const MessageRecord& message) const {
        return message.started_at <= model_.now() || message.ended_at != kNever;
    }

    void handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) override;
    void handle_begin(std::uint64_t tag, TimePs at) override;

  private:
    void begin(std::uint32_t traffic);
    void send_until_later(std::uint32_t traffic, std::uint32_t sender, TimePs at);
    void send_next(std::uint32_t traffic, std::uint32_t sender, TimePs at);
    void pass_on(std::uint64_t tag, TimePs at);

    // A tag has three parts: the number of the player, of the sender, and of the message. The
    // sender's is 0 unless its receiver passes messages on (Schedule::passes_on); the senders of
    // all such traffics are numbered through from 1.
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
    std::vector<std::uint32_t> first_senders_ = {};  ///< Number of each traffic's first sender.
    std::vector<MessageRecord> messages_ = {};
    std::vector<Delivery> deliveries_ = {};  ///< What came of other players' messages.
    /// The message that begins last, by traffic and sender; only of open loops.
    std::vector<std::vector<std::size_t>> latest_ = {};
    std::uint64_t ended_ = 0;
};

}  // namespace softib::plan
