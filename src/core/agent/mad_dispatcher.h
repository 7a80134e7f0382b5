// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Hands MADs that no agent answers to the services on the nodes: the SM with its SA, connection
// managers, and programs that use libibumad. A service registers once, with the management classes
// that it serves, and polls for the MADs that came for it.
//
// An answer goes to the service that sent the request, by the token of its transaction: the upper
// half of the TransactionID, which the Linux kernel's MAD layer uses in the same way. The
// dispatcher gives out every token, so that no two services can take each other's answers. The
// lower half belongs to the service: stamp() adds the service's token to a request, and poll()
// returns answers without it. Programs have a token for each transaction instead: see
// make_token(). All MADs that are no answers go by their management class.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/agent/end.h"
#include "core/wire/mad/mad.h"

namespace softib::agent {

using MadToken = std::uint32_t;

/// A kind of MADs that a service wants and that are no answers: requests, traps, reports, Sends.
struct MadInterest {
    wire::MgmtClass mgmt_class{};
    std::optional<wire::Method> method = std::nullopt;         ///< std::nullopt: any method.
    std::optional<std::uint8_t> class_version = std::nullopt;  ///< std::nullopt: any version.
};

struct MadService {
    /// The MADs that the service wants. If empty, it gets all MADs that no other service takes, and
    /// the answers to transactions whose token is from make_token().
    std::vector<MadInterest> interests;
    std::vector<NodeId> nodes;  ///< The nodes at which the service listens; empty: all nodes.
};

class MadDispatcher {
  public:
    static constexpr std::uint32_t kServicesMax = 256;

    /// Registers a service and returns its token, which stamp() and poll() take. If several
    /// services want a MAD, the one that registered first gets it.
    MadToken add(MadService service);

    /// Writes the service's token into a MAD if it is a request. A service must pass every MAD that
    /// it sends through this.
    void stamp(MadToken service, wire::MadBytes& mad) const;
    /// Returns a token for one transaction of the service without interests. The same token is
    /// returned again only after about four billion others.
    MadToken make_token();

    /// Queues a MAD for the service that takes it. Returns false if no service does.
    bool deliver(const Delivery& delivery);
    /// Returns the next MAD that was queued for a service; std::nullopt if there is none.
    std::optional<Delivery> poll(MadToken service);
    /// Returns whether any service has a MAD queued.
    bool waiting() const { return waiting_ != 0; }

  private:
    struct Entry {
        MadService service;
        std::deque<Delivery> queue;
    };

    Entry* find_asker(MadToken token, NodeId node);
    Entry* find_server(const wire::MadBytes& mad, NodeId node);
    Entry* find_rest(NodeId node);

    std::vector<Entry> services_;
    std::size_t waiting_ = 0;
    MadToken last_token_ = 0;
};

/// Returns an interest in each of these classes, with any method.
std::vector<MadInterest> interests_in(std::span<const wire::MgmtClass> classes);

/// Returns the upper half of a MAD's TransactionID.
MadToken token_of(const wire::MadBytes& mad);
void set_token(wire::MadBytes& mad, MadToken token);

/// Returns the answer "class not supported" to a request that no service at its node takes;
/// std::nullopt if the MAD is an SMP, or neither Get nor Set, and so gets no answer.
std::optional<mad::Packet> decline(const mad::Packet& request);

}  // namespace softib::agent
