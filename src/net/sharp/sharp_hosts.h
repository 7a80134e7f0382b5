// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The ends of a simulated network with SHARP: members of a group at the ports of hosts, aggregation
// nodes at port 0 of switches. A node takes some time for each packet.

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/sharp/tree_member.h"
#include "net/hosts/transport_hosts.h"
#include "net/sharp/aggregation_host.h"

namespace softib::net {

class SharpHosts final : private TransportHosts::Hooks {
  public:
    explicit SharpHosts(TimePs node_ps) : hosts_(*this), node_ps_(node_ps) {}
    SharpHosts(const SharpHosts&) = delete;
    SharpHosts& operator=(const SharpHosts&) = delete;

    /// Sets the network, which must outlive the hosts. Must be called first.
    void join(Engine& net) { net_ = &net; }
    void add_node(std::uint32_t port, sharp::AggregationTables& tables, const hca::Port& at);
    struct MemberInit {
        hca::Port at{};
        wire::SharpQpcConfig context{};  ///< The member's connection to the node above it.
        std::uint16_t tree = 0;
        std::uint32_t group = 0;
        sharp::FragmentRule rule{};
    };
    /// Adds a member. Returns false if its HCA refuses the connection.
    bool add_member(std::uint32_t port, const MemberInit& init);
    /// Opens and closes queue pairs of all nodes as their tables say now.
    void follow_tables();

    /// Makes the member at a port begin a task at time `at`.
    void begin(std::uint32_t port, TimePs at, const sharp::TreeMember::Task& task);
    /// Returns how many tasks of all members have ended.
    std::uint32_t done() const { return done_; }
    /// Returns when the last of the ended tasks ended.
    TimePs last_done() const { return last_done_; }
    /// Returns whether a connection has given up, or a node has refused a packet.
    bool failed() const { return failed_; }

    // Called by the network (ends.h).
    static constexpr unsigned kHears = TransportHosts::kHears;
    void deliver(Engine& net, std::uint32_t port, const Packet& packet) {
        hosts_.deliver(net, port, packet);
    }
    void sent(Engine& net, std::uint32_t port, const Packet& packet) {
        hosts_.sent(net, port, packet);
    }
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);
    void copied(Engine& net, const Packet& packet, std::uint32_t more) {
        hosts_.copied(net, packet, more);
    }
    void dropped(Engine& net, const Packet& packet, TimePs at) { hosts_.dropped(net, packet, at); }

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
    /// What is at a port: a node or a member.
    struct End {
        std::unique_ptr<AggregationHost> node;
        std::unique_ptr<Member> member;
        std::deque<std::pair<TimePs, std::size_t>> due;  ///< When how many packets leave a node.
    };
    static constexpr std::uint32_t kSharpTimer = 1;  ///< Number of our timer; TransportHosts has 0.

    void after_packet(std::uint32_t port, const wire::PacketHeaders& headers) override;
    void send_from(Member& member);
    void receive(Member& member);
    End& end(std::uint32_t port);

    TransportHosts hosts_;
    TimePs node_ps_;
    Engine* net_ = nullptr;
    std::vector<End> ends_;  ///< Ends by port.
    std::uint32_t done_ = 0;
    TimePs last_done_ = 0;
    bool failed_ = false;
};
static_assert(Ends<SharpHosts>);

}  // namespace softib::net
