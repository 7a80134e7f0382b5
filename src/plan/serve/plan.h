// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A service on a cluster: the time to the first token and that of each further one, on 1, 2, 4 ...
// rails, and what of it is the fabric's.

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "plan/fabric_load.h"
#include "plan/serve/serving.h"
#include "plan/serve/times.h"

namespace softib::plan {

struct ServeRequest {
    Model model = {};
    Cluster cluster = {};
    std::uint32_t prefill_nodes = 1;
    std::uint32_t decode_nodes = 1;
    ServeMapping prefill = {};
    ServeMapping decode = {};
    double requests_per_s = 1;
    Lengths prompt = {};
    Lengths answer = {};
    double reuse = 0;
    double decode_reuse = 0;
    std::uint32_t requests = 2000;
    bool stream = false;  ///< Whether KV caches travel while the prompt is computed.
    std::uint32_t batch_most = 256;
    std::uint32_t rails = 0;  ///< Rails of a node; 0: 1, 2, 4 ... all.
    std::uint64_t seed = 1;
    std::uint32_t seeds = 3;  ///< Runs with different seeds, from `seed` on.
    net::ModelKind network = net::ModelKind::kFlow;
    std::function<void(std::size_t done, std::size_t all, const std::string& what)> progress = {};
};

/// A figure of several runs: their median, the least and the most.
struct Spread {
    double middle = 0;
    double low = 0;
    double high = 0;
};
Spread spread_of(std::vector<double> values);

inline constexpr std::array kServePercents{50.0, 95.0, 99.0};
/// Seconds of which the time to the first token consists, as means.
struct FirstTokenParts {
    double waited = 0;
    double prefill = 0;
    double room = 0;
    double alone = 0;           ///< Transfers, if none met another.
    double crowded_in = 0;      ///< Their queueing at NICs of decode nodes (incast).
    double crowded_out = 0;     ///< Their queueing at NICs of prefill nodes.
    double crowded_within = 0;  ///< Their queueing between switches.
    double joining = 0;
    double fabric() const { return alone + crowded_in + crowded_out + crowded_within; }
    double sum() const { return waited + prefill + room + fabric() + joining; }
};

/// The service with one number of rails.
struct ServeRow {
    std::uint32_t rails = 0;
    std::string why = {};  ///< Why there are no figures; empty if there are.
    std::array<Spread, kServePercents.size()> first_token = {};
    std::array<Spread, kServePercents.size()> token = {};     ///< Time of each further token.
    std::array<Spread, kServePercents.size()> transfer = {};  ///< Transfer of a KV cache.
    Spread fabric_share = {};          ///< Part of the mean time to the first token.
    Spread fabric_share_tail = {};     ///< The same of the slowest 1 % of the requests.
    FirstTokenParts parts = {};        ///< Means of all runs.
    FirstTokenParts tail = {};         ///< Means of the slowest 1 %.
    std::uint32_t senders_most = 0;    ///< Most transfers at once to one decode instance.
    std::vector<double> senders = {};  ///< Part of the requests by the most they met (from 1 on).
    double nic_load = 0;               ///< Mean load of the decode nodes' NICs in use.
    std::vector<double> first_tokens = {};  ///< All, in ascending order.
    FabricLoad load = {};
};

struct ServeAnswer {
    ServeRequest request = {};
    double kv_bytes = 0;         ///< Bytes of a token's KV cache.
    double prompt_kv_bytes = 0;  ///< Bytes that a prompt sends on average.
    double prefill_busy = 0;
    double decode_batch = 0;
    double sent_bytes = 0;      ///< Bytes sent in the runs of the last row.
    double kv_tokens_most = 0;  ///< Tokens that a decode instance has room for.
    std::vector<ServeRow> rows = {};
    std::vector<std::string> notes = {};
};

/// Plays the service. The error says what cannot work, and what would.
std::expected<ServeAnswer, std::string> plan_service(const ServeRequest& request);

}  // namespace softib::plan
