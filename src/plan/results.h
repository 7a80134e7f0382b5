// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a run has shown, for people and programs: when messages were done, what they got of the
// network, which links were busy and which were in the way.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/fabric.h"
#include "net/model.h"
#include "plan/congestion.h"
#include "plan/distribution.h"
#include "plan/ends.h"
#include "plan/player.h"

namespace softib::plan {

/// Of one traffic.
struct TrafficResult {
    std::string pattern = {};
    std::uint64_t senders = 0;
    std::uint64_t message_bytes = 0;
    std::uint64_t messages = 0;       ///< That were to be sent.
    std::uint64_t delivered = 0;      ///< Messages.
    std::uint64_t failed = 0;         ///< Given up.
    std::uint64_t unfinished = 0;     ///< Under way at the end, or not begun.
    std::uint64_t bytes = 0;          ///< Delivered.
    TimePs started_at = 0;            ///< The first one.
    TimePs finished_at = 0;           ///< The last one that was delivered.
    double gbps = 0;                  ///< All together: bytes by the time from first to last.
    Distribution completion_us = {};  ///< From the start of a message to its delivery.
    Distribution message_gbps = {};   ///< What each message got.

    TimePs duration() const { return finished_at - std::min(started_at, finished_at); }
};

/// All traffics of a run together.
struct Totals {
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
    double gbps = 0;         ///< The sum of what the traffics got.
    TimePs finished_at = 0;  ///< The last delivery.
    Distribution completion_us = {};
    Distribution message_gbps = {};
};

struct LinkResult {
    std::string name = {};  ///< "leaf3:17"
    std::string peer = {};  ///< What is behind it.
    double use = 0;         ///< Part of the run in which it carried something,
    double wait = 0;        ///< in which it had no credits for what it had to send,
    double full = 0;        ///< and in which packets waited for the cable.
    double gbps = 0;        ///< What it carried on average.
    bool host = false;      ///< A host is at one of its ends.
    std::uint32_t flows = 0;
    net::LinkLoad load = {};
};

struct Results {
    TimePs duration = 0;   ///< Until the last message was delivered, or the run was stopped.
    double link_gbps = 0;  ///< Of the fastest end port.
    std::vector<TrafficResult> traffics = {};
    std::vector<LinkResult> links = {};       ///< By node and port.
    std::vector<std::uint32_t> busiest = {};  ///< The first of them, by waiting and use.
    std::vector<CongestionTree> trees = {};
    net::ModelStats stats = {};
};

struct ResultOptions {
    bool adaptive = false;  ///< Switches chose the way of packets.
    std::uint32_t busiest_max = 10;
};

Results summarise(const Player& player, const topo::Fabric& fabric, const Ends& ends,
                  const ResultOptions& options);

Totals total_of(const Results& results);

}  // namespace softib::plan
