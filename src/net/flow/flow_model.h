// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Messages over a fabric without packets: at any time every message has its max-min fair rate
// (fair_rates.h), and something happens only when messages begin and end. docs/flow-model.md says
// how far that is from packets, and where it must not be used.
//
// A caller adds messages and calls step() until idle(). step() returns a message as soon as its
// last byte has left the sender, before that has arrived. So a caller whose messages depend on
// others can add the next ones at once, with the latest of these arrivals as their start. Messages
// between the same two end ports share one flow, whose weight is their number.
//
// Events of one stretch of time (FlowConfig::stretch_ps) are handled as one: each message keeps its
// own times to the picosecond, but what it leaves to others or takes from them changes at the
// earliest of these events.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "net/flow/calendar.h"
#include "net/flow/fair_rates.h"
#include "net/flow/flow_network.h"
#include "net/flow/wire_format.h"
#include "net/model.h"

namespace softib::net::flow {

struct FlowConfig {
    WireFormat wire = {};
    /// Length of a stretch; 1: only simultaneous events are handled as one.
    TimePs stretch_ps = 1000;
};

struct Message {
    std::uint32_t from = 0;  ///< End port.
    std::uint32_t to = 0;    ///< End port. A message from an end port to itself takes no time.
    std::uint64_t bytes = 0;
    TimePs start = 0;
    std::uint64_t tag = 0;  ///< The caller's number.
};

struct Completion {
    std::uint64_t tag = 0;
    TimePs start = 0;
    TimePs sent = 0;       ///< When the last byte left the sender.
    TimePs delivered = 0;  ///< When it arrived: later by the delays of cables and silicon.
};

/// A message that has begun.
struct Begun {
    std::uint64_t tag = 0;
    TimePs at = 0;
};

struct LinkLoad {
    std::uint64_t bytes = 0;  ///< Bytes that it has carried, headers included.
    TimePs full_ps = 0;       ///< How long it held back flows that share it.
};

class FlowModel {
  public:
    /// `network` must outlive the model.
    FlowModel(const FlowNetwork& network, const FlowConfig& config);
    FlowModel(const FlowModel&) = delete;
    FlowModel& operator=(const FlowModel&) = delete;

    /// Adds a message, whose start must not lie before now(). Returns false if the forwarding
    /// tables lead nowhere.
    [[nodiscard]] bool add(const Message& message);
    /// Handles what happens next. Returns the messages whose last byte has left the sender; valid
    /// until the next call. There may be none though the model is not idle.
    std::span<const Completion> step();
    /// Returns the messages that the last step() has begun.
    std::span<const Begun> begun() const { return begun_; }
    /// Lets time pass until a time before which nothing happens: `until` is less than next().
    void pass(TimePs until) { now_ = std::max(now_, until); }
    bool idle() const { return unfinished_ == 0; }
    TimePs now() const { return now_; }
    /// Returns a time before which nothing happens; kNever if nothing will happen at all.
    TimePs next() const { return idle() ? kNever : std::max(now_, calendar_.next()); }

    /// Returns the messages that have left their senders in part at a time from now() to next().
    std::vector<Partial> partial(TimePs at) const;
    /// Returns the loads of all links until now.
    std::vector<LinkLoad> link_loads() const;

    struct Stats {
        std::uint64_t steps = 0;
        std::uint64_t messages = 0;  ///< Messages that have ended.
        std::uint64_t settled = 0;   ///< Flows that the solver has found a rate for.
    };
    Stats stats() const { return {steps_, ended_, rates_.settled()}; }

  private:
    /// Bit of an event that is about a message, not a pair.
    static constexpr std::uint32_t kBegins = 1U << 31;
    static constexpr std::size_t kIdleMax = 1U << 16;  ///< Pairs without messages that are kept.

    /// All messages between two end ports. Its number is that of its flow in rates_.
    struct alignas(64) Pair {
        Rate rate = 0;    ///< Rate of each message, while there are any.
        Work served = 0;  ///< Work done for each message since the beginning, until `since`.
        TimePs since = 0;
        TimePs look_at = kNever;      ///< Time of the next event that counts.
        Work begun = 0;               ///< Work of all messages that have begun.
        std::uint32_t first = kNone;  ///< The message that ends first.
        /// The message that ends last; without messages, a free record.
        std::uint32_t last = kNone;
        std::uint32_t open = 0;    ///< Messages that have not ended.
        std::uint32_t weight = 0;  ///< Messages that have begun and not ended.
        std::uint32_t latency_ps = 0;
        bool alone = true;        ///< It shares no link on its way.
        bool knows_rate = false;  ///< While alone: `rate` is that of a single message.
        bool listed = false;      ///< It is in idle_.
    };
    static_assert(sizeof(Pair) == 64);
    struct PairEnds {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
    };
    /// A message that has not ended.
    struct Open {
        Work work = 0;  ///< Its work; once it has begun: Pair::served at its end.
        TimePs start = 0;
        std::uint64_t tag = 0;
        std::uint32_t pair = kNone;  ///< kNone: from an end port to itself.
        std::uint32_t next = kNone;  ///< The next message of its pair.
    };
    struct LastPair {
        std::uint32_t to = kNone;
        std::uint32_t pair = kNone;
    };

    std::uint32_t find_pair(std::uint32_t from, std::uint32_t to);
    std::uint32_t add_pair(std::uint32_t from, std::uint32_t to);
    void forget_idle();
    std::uint32_t take_open(std::uint32_t pair);
    void begin(std::uint32_t message);
    void line_up(Pair& pair, std::uint32_t message);
    void look_at(std::uint32_t id, const Calendar::Taken& taken);
    void end(std::uint32_t id, TimePs at);
    void complete(const Open& open, TimePs sent, TimePs latency);
    static void serve(Pair& pair, TimePs until);
    void weigh(std::uint32_t id);
    TimePs due_of(const Pair& pair);
    void schedule(std::uint32_t id);
    TimePs time_for_work(Work work, Rate rate);
    Work carried(const Pair& pair) const;
    static std::uint64_t key(std::uint32_t from, std::uint32_t to) {
        return std::uint64_t{from} << 32 | to;
    }

    const FlowNetwork& network_;
    FlowConfig config_;
    FairRates rates_;
    Calendar calendar_;
    TimePs now_ = 0;
    std::vector<Pair> pairs_;
    std::vector<PairEnds> pair_ends_;
    std::unordered_map<std::uint64_t, std::uint32_t> pair_of_;
    std::vector<LastPair> last_pair_;  ///< By sender: the pair that was used last.
    std::deque<std::uint32_t> idle_;   ///< Pairs that had no messages when they were put in.
    std::vector<Open> open_;
    std::vector<std::uint32_t> free_open_;
    std::vector<std::uint32_t> events_;
    std::vector<Completion> completions_;
    std::vector<Begun> begun_;
    std::vector<Work> forgotten_;  ///< By link: work carried for pairs that are no more.
    std::vector<Hop> way_;
    // The latest result of time_for_work(), since many messages have one size and one rate.
    Work known_work_ = 0;
    Rate known_rate_ = 0;
    TimePs known_time_ = 0;
    std::uint64_t unfinished_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t ended_ = 0;
};

}  // namespace softib::net::flow
