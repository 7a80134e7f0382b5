// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A client of job_desk.h: asks an aggregation manager for jobs and groups by MADs, repeats requests
// that are not answered, and keeps the answers until the caller takes them. The caller moves the
// packets and passes the time in.

#include <cstdint>
#include <map>
#include <optional>

#include "core/mad/packet.h"
#include "core/sharp/error.h"
#include "core/wire/sharp/sharp_job.h"

namespace softib::sharp {

class JobClient {
  public:
    using Ticket = std::uint64_t;  ///< The caller's number for a question.

    /// `last_transaction` is the last TransactionID of an earlier client on the same port, since a
    /// client must not use the same ones again.
    explicit JobClient(std::uint32_t last_transaction = 0) : last_transaction_(last_transaction) {}

    /// Asks the manager at this LID. A ticket has one question: an earlier one is dropped.
    void ask(Ticket ticket, Lid manager, const wire::SharpJob& request);
    /// Returns whether the ticket has a question whose answer has not been taken.
    bool asks(Ticket ticket) const { return questions_.contains(ticket); }
    /// Returns the answer and forgets the question; std::nullopt if there is no answer yet. The
    /// answer has error kSession if the manager is silent or does not know the attribute.
    std::optional<wire::SharpJob> take(Ticket ticket);
    /// Drops the question of a ticket.
    void forget(Ticket ticket) { questions_.erase(ticket); }

    void handle(const mad::Packet& packet);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);

  private:
    /// How long the client waits for an answer to its first try; each further wait is twice as
    /// long.
    static constexpr std::uint64_t kAnswerNs = 500'000'000;
    static constexpr std::uint32_t kTries = 3;

    struct Question {
        mad::Packet packet{};
        std::uint32_t tries = 0;
        bool sent = false;
        std::uint64_t sent_ns = 0;
        std::optional<wire::SharpJob> answer{};

        std::uint64_t due_ns() const { return sent_ns + (kAnswerNs << tries); }
    };
    /// Returns the answer that stands for a manager that is silent: error kSession.
    static wire::SharpJob silence(const Question& question);

    std::map<Ticket, Question> questions_;
    std::uint32_t last_transaction_;
};

}  // namespace softib::sharp
