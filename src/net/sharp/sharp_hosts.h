// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The ends of a fabric in which SHARP works: members of a group at hosts' ports, aggregation nodes
// at the port 0 of switches. Nodes take a time for each packet.

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/sharp/tree_member.h"
#include "net/hosts/transport_hosts.h"
#include "net/sharp/aggregation_host.h"

namespace softib::net {

class SharpHosts final : public TransportHosts {
  public:
    explicit SharpHosts(TimePs node_ps) : node_ps_(node_ps) {}

    /// Before anything else; the network outlives it.
    void join(Engine& net) { net_ = &net; }
    void add_node(std::uint32_t port, sharp::AggregationTables& tables, const hca::Port& at);
    /// A member that is connected by `context` to the node above it.
    struct MemberInit {
        hca::Port at{};
        wire::SharpQpcConfig context{};
        std::uint16_t tree = 0;
        std::uint32_t group = 0;
        sharp::FragmentRule rule{};
    };
    bool add_member(std::uint32_t port, const MemberInit& init);
    void follow_tables();

    /// The member at a port begins a task at some time.
    void begin(std::uint32_t port, TimePs at, const sharp::TreeMember::Task& task);
    std::uint32_t done() const { return done_; }     ///< Tasks of all members,
    TimePs last_done() const { return last_done_; }  ///< of which the last one ended then.
    bool failed() const { return failed_; }

    // For the network, beside those of TransportHosts.
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);

  private:
    struct Member {
        Member(const MemberInit& init);

        OwnMemory memory;
        hca::Hca hca;
        hca::CqId cq;
        TreePort port;
        sharp::TreeMember member;
        Qpn qpn;
    };
    struct End {
        std::unique_ptr<AggregationHost> node;
        std::unique_ptr<Member> member;
        std::deque<std::pair<TimePs, std::size_t>> due;  ///< Packets of a node, by time.
    };
    static constexpr std::uint32_t kSharpTimer = 1;  ///< TransportHosts has 0.

    void after_packet(std::uint32_t port, const wire::PacketHeaders& headers) override;
    void send_from(Member& member);
    void receive(Member& member);
    End& end(std::uint32_t port);

    TimePs node_ps_;
    Engine* net_ = nullptr;
    std::vector<End> ends_;  ///< By port.
    std::uint32_t done_ = 0;
    TimePs last_done_ = 0;
    bool failed_ = false;
};

}  // namespace softib::net
