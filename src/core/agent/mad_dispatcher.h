// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Hands MADs that no agent answers to the services on the nodes: the subnet manager with its
// administration, connection managers, programs of libibumad. A service registers once, with the
// management classes that it serves, and polls for what came.
//
// An answer goes to who asked, by the token of its transaction: the upper half of the transaction
// id, as the kernel's MAD layer has it. Every token comes from here, so that no two services can
// take each other's. A service owns the lower half: stamp() adds its token to what it sends, and
// poll() returns answers without it. Programs have a token for each transaction instead, see
// make_token(). All other MADs go by their class.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/agent/end.h"
#include "core/wire/mad.h"

namespace softib::agent {

using MadToken = std::uint32_t;

/// A kind of MADs that are no answers: requests, traps, reports, Sends.
struct MadInterest {
    wire::MgmtClass mgmt_class{};
    std::optional<wire::Method> method = std::nullopt;  ///< Nothing: any; the same below.
    std::optional<std::uint8_t> class_version = std::nullopt;
};

struct MadService {
    /// Empty: all that no other service takes, and the answers to make_token()'s transactions.
    std::vector<MadInterest> interests;
    std::vector<NodeId> nodes;  ///< Where it listens; empty: everywhere.
};

class MadDispatcher {
  public:
    static constexpr std::uint32_t kServicesMax = 256;

    /// Registers a service and returns its token, which also names it here. Of several that take
    /// the same MAD the one that registered first gets it.
    MadToken add(MadService service);

    /// To be done to every MAD that a service sends: a request gets its token.
    void stamp(MadToken service, wire::MadBytes& mad) const;
    /// Returns a token for one transaction of the service without interests. It comes again after
    /// four billion others.
    MadToken make_token();

    /// Queues a MAD for the service that takes it; false: none does.
    bool deliver(const Delivery& delivery);
    std::optional<Delivery> poll(MadToken service);
    /// Whether poll() has something for somebody.
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

/// An interest in each of these classes, whatever the method.
std::vector<MadInterest> interests_in(std::span<const wire::MgmtClass> classes);

MadToken token_of(const wire::MadBytes& mad);
void set_token(wire::MadBytes& mad, MadToken token);

/// The answer to a request of a class that nobody at a node serves; nothing where none is due.
std::optional<mad::Packet> decline(const mad::Packet& request);

}  // namespace softib::agent
