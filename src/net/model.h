// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a model of a fabric can be asked: carry messages between end ports in virtual time, tell
// when they arrive, and say afterwards how busy each link was. Traffic and results are written
// against this alone. Simulation is the model that moves every packet, flow::FlowSimulation the one
// that has rates instead.
//
// End ports are numbered from 0 on in the order of the fabric's hosts and of the HCAs of each.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/link/rate.h"

namespace softib::net {

using link::kNever;
using link::TimePs;

enum class ModelKind : std::uint8_t {
    kPacket,  ///< Every packet moves.
    kFlow,    ///< Messages have rates. There are no packets, no queues and no credits.
};

/// A transfer from one end port to another, as an RDMA WRITE would do it.
struct Message {
    std::uint32_t from = 0;  ///< End port.
    std::uint32_t to = 0;    ///< End port.
    std::uint64_t bytes = 0;
    std::uint64_t tag = 0;         ///< The caller's own; events name the message by it.
    std::uint32_t connection = 0;  ///< Which queue pair between the two ports.
    std::uint8_t sl = 0;           ///< Where the routes leave service levels to traffic.
};

enum class MessageEvent : std::uint8_t {
    kDelivered,     ///< The last byte is in the receiver's memory.
    kAcknowledged,  ///< The sender knows it. Nothing more will be said of this message.
    /// The sender has given up. Nothing more will be said of this message, unless all of it comes
    /// to the receiver before that knows.
    kFailed,
};

/// Is told of messages while the model runs, at the time they happen, and may send others then.
class MessageListener {
  public:
    virtual ~MessageListener() = default;
    virtual void handle_message(std::uint64_t tag, MessageEvent event, TimePs at) = 0;
};

/// A way out of a node.
struct Hop {
    std::uint32_t node = 0;  ///< As the fabric numbers nodes.
    std::uint8_t port = 0;
    friend auto operator<=>(const Hop&, const Hop&) = default;
};

/// One direction of a cable. Times are sums since the beginning.
struct LinkLoad {
    Hop at = {};    ///< The sending port,
    Hop peer = {};  ///< and the one that receives.
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;
    TimePs busy_ps = 0;     ///< It carried something.
    TimePs wait_ps = 0;     ///< XmitWait: it had something to send, and no credits.
    TimePs full_ps = 0;     ///< By looks now and then: packets waited for this cable itself,
    TimePs blocked_ps = 0;  ///< or for credits of the port behind it.
    double gbps = 0;        ///< What it can carry.
};

struct ModelStats {
    std::uint64_t events = 0;
    std::uint64_t hops = 0;       ///< Packets put on a cable.
    std::uint64_t delivered = 0;  ///< Packets.
    std::uint64_t discarded = 0;  ///< Packets that switches and adapters dropped.
    std::uint64_t lost = 0;       ///< Packets that cables lost.
    std::uint64_t marked = 0;     ///< Packets marked with FECN.
    std::uint64_t routed = 0;     ///< Packets that routers sent on, from subnet to subnet.
    std::uint64_t context_misses = 0;
    std::uint64_t log_hash = 0;       ///< The same for every run of the same simulation.
    std::uint64_t notifications = 0;  ///< BECNs or CNPs that came to senders.
    std::uint64_t resent = 0;         ///< Packets that adapters sent again.
    std::uint64_t timeouts = 0;       ///< Of adapters that waited for an acknowledgement.
    std::uint64_t pauses = 0;         ///< Pause frames, on Ethernet.

    /// What a part of a fabric adds to the whole.
    ModelStats& operator+=(const ModelStats& part) {
        for (std::uint64_t ModelStats::* const field :
             {&ModelStats::events, &ModelStats::hops, &ModelStats::delivered,
              &ModelStats::discarded, &ModelStats::lost, &ModelStats::marked, &ModelStats::routed,
              &ModelStats::context_misses, &ModelStats::log_hash, &ModelStats::notifications,
              &ModelStats::resent, &ModelStats::timeouts, &ModelStats::pauses}) {
            this->*field += part.*field;
        }
        return *this;
    }
};

class Model {
  public:
    virtual ~Model() = default;

    virtual std::uint32_t end_count() const = 0;
    /// Whether messages may be sent from an end port here: a model of a part of a fabric has some.
    virtual bool has_end(std::uint32_t) const { return true; }
    virtual TimePs now() const = 0;
    /// Begins a message at a time that is not over yet.
    virtual void send(const Message& message, TimePs at) = 0;
    virtual void set_listener(MessageListener* listener) = 0;
    /// Goes on for so many events at most, not 0. True: everything up to `until` has happened, or
    /// nothing is left to happen.
    virtual bool run_some(TimePs until, std::uint32_t events_max) = 0;
    /// Nothing will happen any more by itself.
    virtual bool idle() const = 0;
    virtual ModelStats stats() const = 0;
    // Of them, what is worth asking often.
    virtual std::uint64_t events() const = 0;
    virtual std::uint64_t packets_delivered() const = 0;
    /// All directions of all cables, by node and port.
    virtual std::vector<LinkLoad> links() const = 0;
    /// The ports by which packets leave on their way, that of the sending end first. Where switches
    /// choose: those of their tables. Empty: there is no way.
    virtual std::vector<Hop> path(std::uint32_t from, std::uint32_t to) const = 0;

    /// The engine whose routes it has: never "auto".
    virtual const std::string& engine() const = 0;
    virtual std::uint8_t data_vls() const = 0;
    /// Messages that have not ended.
    virtual std::uint64_t unfinished() const = 0;
    /// What the user should know about the run: routes that could not be repaired, for example.
    virtual const std::vector<std::string>& notes() const = 0;
    /// A line for each thing that is wrong with the model itself, or keeps messages from ending.
    virtual std::vector<std::string> check() const = 0;
};

}  // namespace softib::net
