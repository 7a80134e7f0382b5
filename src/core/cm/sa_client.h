// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Requests of a host to the SA, for paths and for membership in multicast groups. Each is repeated
// until its answer comes or its time is over.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "core/cm/deadlines.h"
#include "core/cm/route.h"
#include "core/cm/surroundings.h"
#include "core/mad/packet.h"
#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/path_record.h"
#include "core/wire/sa/sa.h"

namespace softib::cm {

using QueryId = std::uint32_t;

struct SaAnswer {
    QueryId query = 0;
    bool timed_out = false;
    std::uint16_t status = 0;  ///< MADHeader.Status of the answer.
    wire::PathRecord path{};
    wire::McMemberRecord member{};
};

class SaClient {
  public:
    explicit SaClient(const Surroundings& surroundings) : surroundings_(surroundings) {}

    QueryId ask_path(std::uint32_t port, const wire::PathRecord& wanted, std::uint64_t timeout_ns,
                     std::uint64_t now_ns);
    QueryId join(std::uint32_t port, const wire::McMemberRecord& member, std::uint64_t now_ns);
    QueryId leave(std::uint32_t port, const wire::McMemberRecord& member, std::uint64_t now_ns);
    void forget(QueryId query);

    /// Takes the SA's answer to a request; any other MAD is dropped.
    void handle_mad(const mad::Packet& packet);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return deadlines_.next_ns(); }
    std::optional<Outgoing> poll_transmit();
    std::optional<SaAnswer> poll_answer();

  private:
    struct Query {
        std::uint32_t port = 0;
        wire::SaAttribute attribute{};
        std::uint64_t give_up_ns = 0;
        wire::MadBytes mad{};
    };

    template <wire::Attribute Record>
    QueryId ask(std::uint32_t port, wire::Method method, wire::SaAttribute attribute,
                const Record& record, std::uint64_t mask, std::uint64_t timeout_ns,
                std::uint64_t now_ns);
    void send(QueryId id, const Query& query, std::uint64_t now_ns);

    const Surroundings& surroundings_;
    QueryId last_ = 0;
    std::map<QueryId, Query> queries_;
    Deadlines deadlines_;
    std::deque<Outgoing> out_;
    std::deque<SaAnswer> answers_;
};

}  // namespace softib::cm
