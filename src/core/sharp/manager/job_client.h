// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The other side of job_desk.h: asks an aggregation manager for jobs and groups by MADs, sends what
// is not answered again, and keeps the answers until they are taken. Its caller moves its packets
// and tells it the time.

#include <cstdint>
#include <map>
#include <optional>

#include "core/mad/packet.h"
#include "core/sharp/error.h"
#include "core/wire/sharp_job.h"

namespace softib::sharp {

class JobClient {
  public:
    using Ticket = std::uint64_t;  ///< The caller's name of a question.

    /// A client that comes after another on the same port must not repeat its transactions.
    explicit JobClient(std::uint32_t last_transaction = 0) : last_transaction_(last_transaction) {}

    /// Asks the manager at this LID; one question at a time under a ticket.
    void ask(Ticket ticket, Lid manager, const wire::SharpJob& request);
    bool asks(Ticket ticket) const { return questions_.contains(ticket); }
    /// The answer, once. A manager that is silent, or knows nothing of jobs: error kSession.
    std::optional<wire::SharpJob> take(Ticket ticket);
    /// Nobody wants to know it any more.
    void forget(Ticket ticket) { questions_.erase(ticket); }

    void handle(const mad::Packet& packet);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);

  private:
    static constexpr std::uint64_t kAnswerNs = 500'000'000;  ///< Twice as long after each try.
    static constexpr std::uint32_t kTries = 3;

    struct Question {
        mad::Packet packet{};
        std::uint32_t tries = 0;
        bool sent = false;
        std::uint64_t sent_ns = 0;
        std::optional<wire::SharpJob> answer{};

        std::uint64_t due_ns() const { return sent_ns + (kAnswerNs << tries); }
    };
    static wire::SharpJob silence(const Question& question);

    std::map<Ticket, Question> questions_;
    std::uint32_t last_transaction_;
};

}  // namespace softib::sharp
