// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The interface of all models of a fabric. A model carries messages between end ports in virtual
// time, tells when they arrive, and says afterwards how busy each link was. Traffic and results are
// written against this interface alone. Simulation is the model that moves every packet,
// flow::FlowSimulation the one that has rates instead.
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
    std::uint64_t tag = 0;         ///< The caller's number; events name the message by it.
    std::uint32_t connection = 0;  ///< Number of the queue pair between the two ports.
    std::uint8_t sl = 0;           ///< Counts where the routes leave service levels to traffic.
};

enum class MessageEvent : std::uint8_t {
    kDelivered,     ///< The last byte is in the receiver's memory.
    kAcknowledged,  ///< The sender knows of the delivery. This is the message's last event.
    /// The sender has given up. This is the message's last event, unless all of it comes to the
    /// receiver before the receiver knows: then kDelivered still follows.
    kFailed,
};

/// Is told of the events of messages while the model runs, each at its time. It may send further
/// messages then.
class MessageListener {
  public:
    virtual ~MessageListener() = default;
    virtual void handle_message(std::uint64_t tag, MessageEvent event, TimePs at) = 0;
    /// The time at which a message must begin has come. The listener does not hear of messages that
    /// begin when they are sent.
    virtual void handle_begin(std::uint64_t, TimePs) {}
};

/// A message that has come to its receiver in part.
struct Partial {
    std::uint64_t tag = 0;
    std::uint64_t left = 0;  ///< Bytes that have not come.
};

/// A port by which packets leave a node.
struct Hop {
    std::uint32_t node = 0;  ///< As the fabric numbers nodes.
    std::uint8_t port = 0;
    friend auto operator<=>(const Hop&, const Hop&) = default;
};

/// The load of one direction of a cable. Times are sums since the beginning.
struct LinkLoad {
    Hop at = {};    ///< The sending port.
    Hop peer = {};  ///< The receiving port.
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;
    TimePs busy_ps = 0;  ///< Time in which the cable carried something.
    TimePs wait_ps = 0;  ///< XmitWait: time with something to send and no credits.
    /// Time in which packets waited for this cable itself, estimated from samples (looks.h).
    TimePs full_ps = 0;
    /// Time in which packets waited for credits of the receiving port, estimated from samples.
    TimePs blocked_ps = 0;
    double gbps = 0;  ///< Gigabits a second that it can carry.
};

struct ModelStats {
    std::uint64_t events = 0;
    std::uint64_t hops = 0;       ///< Packets put on a cable.
    std::uint64_t delivered = 0;  ///< Packets that an HCA, or a switch's agent, received.
    std::uint64_t discarded = 0;  ///< Packets that switches and HCAs dropped.
    std::uint64_t lost = 0;       ///< Packets that cables lost.
    std::uint64_t marked = 0;     ///< Packets marked with FECN.
    std::uint64_t routed = 0;     ///< Packets that routers sent on, from subnet to subnet.
    std::uint64_t context_misses = 0;
    std::uint64_t log_hash = 0;       ///< The same for every run of the same simulation.
    std::uint64_t notifications = 0;  ///< BECNs or CNPs that came to senders.
    std::uint64_t resent = 0;         ///< Packets that HCAs sent again.
    std::uint64_t timeouts = 0;       ///< Timeouts of HCAs that waited for an acknowledgement.
    std::uint64_t pauses = 0;         ///< Pause frames, on Ethernet.

    /// Adds the counts of a part of a fabric.
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
    /// Returns whether messages may be sent from an end port here: a model of a part of a fabric
    /// has only some of them.
    virtual bool has_end(std::uint32_t) const { return true; }
    virtual TimePs now() const = 0;
    /// Begins a message at `at`, which must not lie before now().
    virtual void send(const Message& message, TimePs at) = 0;
    virtual void set_listener(MessageListener* listener) = 0;
    /// Goes on for `events_max` events (not 0) or a few more. Returns true if everything up to
    /// `until` has happened, or nothing is left to happen.
    virtual bool run_some(TimePs until, std::uint32_t events_max) = 0;
    /// Returns whether nothing will happen any more by itself.
    virtual bool idle() const = 0;
    virtual ModelStats stats() const = 0;
    // Two of the statistics, for callers that ask often.
    virtual std::uint64_t events() const = 0;
    virtual std::uint64_t packets_delivered() const = 0;
    /// Returns the loads of all directions of all cables, by node and port.
    virtual std::vector<LinkLoad> links() const = 0;
    /// Returns the ports by which packets leave nodes on their way, that of the sending end first;
    /// none if there is no way. Where switches choose among ports, these are the ports of their
    /// forwarding tables.
    virtual std::vector<Hop> path(std::uint32_t from, std::uint32_t to) const = 0;

    /// Returns the name of the routing engine that computed the routes: never "auto".
    virtual const std::string& engine() const = 0;
    virtual std::uint8_t data_vls() const = 0;
    /// Returns the number of messages that have not ended.
    virtual std::uint64_t unfinished() const = 0;
    /// Returns the messages that have come in part to receivers here.
    virtual std::vector<Partial> partial() const = 0;
    /// Returns what the user should know about the run: routes that could not be repaired, for
    /// example.
    virtual const std::vector<std::string>& notes() const = 0;
    /// Returns a line for each thing that is wrong with the model itself, or that keeps messages
    /// from ending.
    virtual std::vector<std::string> check() const = 0;
};

}  // namespace softib::net
