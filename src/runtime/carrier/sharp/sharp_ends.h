// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SHARP on the packet path: aggregation nodes at port 0 of switches, and the queue pairs that
// connect members' HCAs to the trees. The daemon says which nodes and groups there are
// (runtime/sharp/plane.h). Members post their turns into the memory of their group
// (runtime/sharp/group_memory.h); the carrier checks all that it reads there.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sharp/tree_member.h"
#include "net/sharp/aggregation_host.h"
#include "net/sharp/tree_port.h"
#include "runtime/carrier/tables.h"
#include "runtime/sharp/group_memory.h"
#include "runtime/sharp/plane.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class Adapters;

class SharpEnds {
  public:
    /// `dir` is the fabric's directory. The other arguments must outlive the ends.
    SharpEnds(const shm::Arena& arena, std::string dir, const Tables& tables, Adapters& adapters,
              net::Engine& net);
    ~SharpEnds() { hang_up(); }
    SharpEnds(const SharpEnds&) = delete;
    SharpEnds& operator=(const SharpEnds&) = delete;

    /// Reads nodes and groups from the daemon, if they have changed.
    void follow();
    /// Begins the turns that members have posted. Returns false if there was nothing to do.
    bool serve();
    /// Adds what the nodes have counted to the arena.
    void write_counts();

    // Adapters calls these.
    /// Returns whether an aggregation node is at a port of the network.
    bool has_node(std::uint32_t port) const {
        return port < node_at_.size() && node_at_[port] != nullptr;
    }
    /// Lets a node reduce and send. Must be called after its HCA has handled a packet.
    void after_packet(std::uint32_t port);
    /// Keeps a completion of a member's queue pair for take_completions(), which must be called
    /// before the next packet is handled.
    void note(const hca::Completion& done) { completions_.push_back(done); }
    /// Handles the completions that were noted.
    void take_completions();
    void handle_timeouts(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

  private:
    struct Node {
        Node(std::uint8_t ports, std::uint32_t at)
            : tables(sharp::default_an_info(), ports), host(tables), port(at) {}
        sharp::AggregationTables tables;
        net::AggregationHost host;
        std::uint32_t port;                        ///< The network's port.
        wire::SharpPerformanceCounters written{};  ///< What has been added to the arena so far.
    };
    struct Member {
        std::uint32_t hca;
        Qpn qpn;
        sharp::TreeMember tree;
        std::uint64_t next = 0;  ///< The turn that the member will post next.
        std::uint64_t done = 0;  ///< The first turn that is not done.
    };
    /// A group with its memory, which its members share with the carrier.
    struct Group {
        Group() = default;
        Group(const Group&) = delete;
        Group& operator=(const Group&) = delete;
        ~Group();
        std::byte* base = nullptr;
        std::uint64_t bytes = 0;
        std::uint64_t slots_off = 0;
        std::uint64_t posts_off = 0;
        std::vector<Member> members;
        bool failed = false;

        sharp::GroupHeader& header() const { return *reinterpret_cast<sharp::GroupHeader*>(base); }
        /// Returns the post of a member's turn.
        sharp::PostedTurn& post(std::size_t rank, std::uint64_t turn) const;
        /// Returns where a member's vector of a turn is.
        std::byte* vector(std::size_t rank, std::uint64_t turn, std::uint32_t turn_bytes) const;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< Numbers of a job and a group.

    std::optional<sharp::SharpPlane> ask();
    void hang_up();
    void read_nodes(const sharp::SharpPlane& plane);
    void read_connections();
    void read_groups(const sharp::SharpPlane& plane);
    std::unique_ptr<Group> open_group(const sharp::SharpPlane::Group& told);
    net::TreePort& port_of(std::uint32_t hca);
    bool begin_posted(Group& group);
    bool begin(Group& group, std::size_t rank);
    void transmit(Member& member);
    void finish(Group& group, std::size_t rank);
    void deliver(Qpn at, std::span<const std::uint8_t> bytes);
    static void fail(Group& group, sharp::Error error);
    void fail_member(Qpn qpn);
    void fail_connection(const sharp::AggregationTables& tables, Qpn qpn);

    const shm::Arena& arena_;
    std::string dir_;
    const Tables& tables_;
    Adapters& adapters_;
    net::Engine& net_;
    int daemon_ = -1;               ///< Connection to the daemon; open only within follow().
    std::uint64_t generation_ = 0;  ///< ArenaHeader::sharp_generation when follow() last read.
    std::uint64_t routes_ = 0;      ///< ArenaHeader::route_generation when follow() last read.
    std::map<std::uint32_t, std::unique_ptr<Node>> nodes_;           ///< Nodes by switch.
    std::vector<Node*> node_at_;                                     ///< Nodes by port.
    std::map<std::uint32_t, std::unique_ptr<net::TreePort>> ports_;  ///< Connections by HCA.
    std::map<Qpn, std::uint32_t> hca_of_;                            ///< HCAs by member's QPN.
    std::map<Key, std::unique_ptr<Group>> groups_;
    std::vector<hca::Completion> completions_;
    bool behind_ = false;  ///< Whether a turn waits for follow() to read newer tables.
};

}  // namespace softib::carrier
