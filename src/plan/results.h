// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The results of a run, for people and programs: when messages were delivered, at what rates, which
// links were busy and which held others up.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "net/model.h"
#include "plan/congestion.h"
#include "plan/distribution.h"
#include "plan/ends.h"
#include "plan/player.h"

namespace softib::plan {

/// The result of one traffic of a run.
struct TrafficResult {
    std::string pattern = {};
    std::uint64_t senders = 0;
    std::uint64_t message_bytes = 0;
    std::uint64_t messages = 0;       ///< Planned messages.
    std::uint64_t delivered = 0;      ///< Delivered messages.
    std::uint64_t failed = 0;         ///< Messages that their sender gave up.
    std::uint64_t unfinished = 0;     ///< Messages under way at the end of the run.
    std::uint64_t not_begun = 0;      ///< Messages whose turn or time had not come then.
    std::uint64_t bytes = 0;          ///< Bytes that arrived.
    std::uint64_t partial_bytes = 0;  ///< Bytes that arrived of unfinished messages.
    TimePs started_at = 0;            ///< When the first message began.
    TimePs finished_at = 0;           ///< When the last message was delivered.
    TimePs ended_at = 0;              ///< The same, or the end of the run if not all had ended.
    double gbps = 0;                  ///< Rate of all messages: `bytes` divided by duration().
    Distribution completion_us = {};  ///< Time of each message from its start to its delivery.
    Distribution message_gbps = {};   ///< Rate of each message over that time.

    TimePs duration() const { return ended_at - std::min(started_at, ended_at); }
    bool done() const { return unfinished == 0 && not_begun == 0; }
};

/// All traffics of a run together.
struct Totals {
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
    bool done = true;  ///< Whether all messages were delivered or given up.
    /// Rate of all messages: the bytes that arrived by the time from the first begin to the end.
    double gbps = 0;
    double finished_us = kUnknown;  ///< When the last message was delivered, if all were.
    Distribution completion_us = {};
    Distribution message_gbps = {};
};

/// The result of one direction of a cable. `use`, `wait` and `full` are parts of the run, 0 to 1.
struct LinkResult {
    std::string name = {};  ///< The sending port: "leaf3:17".
    std::string peer = {};  ///< The receiving port.
    double use = 0;         ///< Part of the run in which the link carried something.
    double wait = 0;        ///< Part in which it had no credits for what it had to send (XmitWait).
    double full = 0;        ///< Part in which packets waited for the cable itself; 0 for a host.
    double gbps = 0;        ///< Average rate.
    bool host = false;      ///< Whether a host is at one of its ends.
    std::uint32_t flows = 0;
    net::LinkLoad load = {};
};

struct Results {
    /// Time until the last message was delivered or given up, or the run was stopped.
    TimePs duration = 0;
    double link_gbps = 0;  ///< Rate that the link of the fastest end port can carry.
    std::vector<TrafficResult> traffics = {};
    std::vector<LinkResult> links = {};       ///< In the order of node and port.
    std::vector<std::uint32_t> busiest = {};  ///< Positions in `links`: most waiting, then use.
    std::vector<CongestionTree> trees = {};
    net::ModelStats stats = {};
};

struct ResultOptions {
    bool adaptive = false;  ///< Whether switches chose the path of packets.
    std::uint32_t busiest_max = 10;
};

/// Summarises what a player has recorded so far.
Results summarise(const Player& player, const topo::Fabric& fabric, const Ends& ends,
                  const ResultOptions& options);

/// Adds up the traffics of a run.
Totals total_of(const Results& results);

}  // namespace softib::plan
