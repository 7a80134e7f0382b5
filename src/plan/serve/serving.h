// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Serving by two pools, played event by event: requests come at random and wait for an instance of
// the prefill pool, their KV caches travel to an instance of the decode pool, where sequences are
// computed in batches, a token of each at a time. A model of the fabric carries the transfers, so
// those that meet at a NIC or a cable slow each other down.

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "net/model.h"
#include "plan/serve/lengths.h"

namespace softib::plan {

/// GPUs that compute a request together, with the end ports of their NICs.
struct Instance {
    std::vector<std::uint32_t> ends = {};
};

struct ServeSetup {
    std::vector<Instance> prefill = {};
    std::vector<Instance> decode = {};
    double requests_per_s = 1;
    Lengths prompt = {};
    Lengths answer = {};
    double reuse = 0;         ///< Part of a prompt whose KV cache a prefill instance has already.
    double decode_reuse = 0;  ///< Part whose KV cache the decode instance has: it is not sent.
    std::uint32_t requests = 2000;
    std::uint32_t batch_most = 256;  ///< Sequences that a decode instance computes at once.
    double kv_tokens_most = 1e12;    ///< Tokens whose KV caches a decode instance holds.
    double kv_bytes = 0;             ///< Bytes of a token's KV cache.
    /// Parts of a KV cache, of which each is sent when its layers are computed; 1: all of it is
    /// sent when the prefill has ended. With more, a prefill begins when a decode instance has
    /// room.
    std::uint32_t parts = 1;
    double speed_factor = 1;  ///< Links are this many times as fast as in the model.
    /// Seconds of the prefill of this many new tokens behind this many that are known.
    std::function<double(double tokens, double known)> prefill_s = {};
    /// Seconds of a token for each sequence of a batch whose contexts have this many tokens.
    std::function<double(std::uint32_t batch, double context)> step_s = {};
    std::uint64_t seed = 1;
};

/// One request. Times are seconds.
struct Served {
    double arrived = 0;
    std::uint32_t prompt = 0;
    std::uint32_t answer = 0;
    double waited = 0;  ///< Until an instance of the prefill pool is free.
    double prefill = 0;
    double room = 0;     ///< Until a decode instance has room for the KV cache.
    double alone = 0;    ///< The transfer's time if no other were under way.
    double crowded = 0;  ///< Time that other transfers add to it.
    double joining = 0;  ///< Until the decode instance has begun and finished its next token.
    double token = 0;    ///< Mean time of each further token.
    double bytes = 0;    ///< Bytes of the KV cache that were sent.
    std::uint32_t most_senders = 1;  ///< Most transfers under way to its decode instance at once.
    // What the crowded time is at, by how many transfers shared each end.
    double crowded_in = 0;      ///< Time at the NICs of the decode instance.
    double crowded_out = 0;     ///< Time at the NICs of the prefill instance.
    double crowded_within = 0;  ///< Time at cables between switches.

    double transfer() const { return alone + crowded; }
    double first_token() const { return waited + prefill + room + transfer() + joining; }
};

struct ServeRun {
    std::vector<Served> requests = {};  ///< In the order of their arrival.
    double seconds = 0;                 ///< Until the last answer is complete.
    double prefill_busy = 0;            ///< Part of the time that prefill instances compute.
    double decode_batch = 0;            ///< Mean sequences of a decode step.
    double sent_bytes = 0;              ///< Bytes that were given to the network.
};

/// Plays a service. `alone_s` returns the time of a transfer from a prefill to a decode instance
/// with nothing else on the network. The error says which ends no route joins.
std::expected<ServeRun, std::string> serve(
    const ServeSetup& setup, net::Model& network,
    const std::function<double(std::uint32_t from, std::uint32_t to, double bytes)>& alone_s);

}  // namespace softib::plan
