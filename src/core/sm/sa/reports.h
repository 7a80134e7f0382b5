// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reports: notices on their way to subscribers. Each is repeated until the subscriber answers it or
// the SA gives it up (IBA vol. 1, 13.4.11).

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/sm/sa/request_queue.h"
#include "core/sm/sa/subscriptions.h"
#include "core/wire/sa/sa.h"

namespace softib::sm {

/// A message to a port.
struct SaOutgoing {
    SaPeer to;
    std::vector<std::uint8_t> message;
};

struct SaReportLimits {
    std::uint64_t timeout_ns = 1'000'000'000;
    std::uint32_t retries = 3;
    /// Most reports that may wait for one port. A port that has this many does not answer, and gets
    /// no further ones.
    std::size_t per_port_max = 64;
    std::size_t reports_max = 65'536;
};

class SaReports {
  public:
    explicit SaReports(const SaReportLimits& limits) : limits_(limits) {}

    std::size_t pending() const { return reports_.size(); }
    /// Number of reports that were given up or never sent.
    std::uint64_t lost() const { return lost_; }

    void send(const SaSubscriptions::Subscription& to, const wire::GmpNotice& notice,
              std::uint64_t now_ns);
    /// Takes a ReportResp from a port.
    void handle_response(Guid port, std::uint64_t transaction_id);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    void remove_port(Guid port);
    /// Returns the next report to send; std::nullopt if there is none. The port's LID is looked up
    /// now, since it may have changed.
    std::optional<SaOutgoing> poll(const Subnet& subnet);

  private:
    struct Report {
        Guid port{};
        Qpn qp{};
        wire::GmpNotice notice;
        std::uint64_t deadline_ns = 0;
        std::uint32_t retries_left = 0;
    };
    using Reports = std::map<std::uint64_t, Report>;  ///< Reports by TransactionID.

    void remove(Reports::iterator at);

    SaReportLimits limits_;
    Reports reports_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> deadlines_;
    std::unordered_map<std::uint64_t, std::size_t> per_port_;
    std::deque<std::uint64_t> ready_;
    std::uint64_t transactions_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace softib::sm
