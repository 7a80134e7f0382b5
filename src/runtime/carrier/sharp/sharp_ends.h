// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SHARP on the packet path: aggregation nodes at the port 0 of switches, and the queue pairs by
// which members' HCAs are in the trees. What nodes and groups there are, the daemon says
// (runtime/sharp/plane.h); what members have to do, they post into the memory of their group
// (runtime/sharp/group_memory.h), of which nothing is believed.

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
    /// `dir`: of the fabric. The rest outlives it.
    SharpEnds(const live::Arena& arena, std::string dir, const Tables& tables, Adapters& adapters,
              net::Engine& net);
    ~SharpEnds() { hang_up(); }
    SharpEnds(const SharpEnds&) = delete;
    SharpEnds& operator=(const SharpEnds&) = delete;

    /// Reads what the daemon has, if that has changed.
    void follow();
    /// Begins what members have posted. Returns whether there was anything.
    bool serve();
    /// Adds what the nodes have counted to the arena.
    void write_counts();

    // For the adapters.
    bool has_node(std::uint32_t port) const {
        return port < node_at_.size() && node_at_[port] != nullptr;
    }
    /// After the HCA of a node has handled a packet.
    void after_packet(std::uint32_t port);
    /// A completion of a member's queue pair; take_completions() comes before the next packet.
    void note(const hca::Completion& done) { completions_.push_back(done); }
    void take_completions();
    void handle_timeouts(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

  private:
    struct Node {
        Node(std::uint8_t ports, std::uint32_t at)
            : tables(sharp::default_an_info(), ports), host(tables), port(at) {}
        sharp::AggregationTables tables;
        net::AggregationHost host;
        std::uint32_t port;                        ///< Of the network.
        wire::SharpPerformanceCounters written{};  ///< To the arena, so far.
    };
    struct Member {
        std::uint32_t hca;
        Qpn qpn;
        sharp::TreeMember tree;
        std::uint64_t next = 0;  ///< Turn that it will post,
        std::uint64_t done = 0;  ///< and the first that is not done.
    };
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

        live::GroupHeader& header() const { return *reinterpret_cast<live::GroupHeader*>(base); }
        live::PostedTurn& post(std::size_t rank, std::uint64_t turn) const;
        std::byte* vector(std::size_t rank, std::uint64_t turn, std::uint32_t turn_bytes) const;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< Job and group.

    std::optional<live::SharpPlane> ask();
    void hang_up();
    void read_nodes(const live::SharpPlane& plane);
    void read_connections();
    void read_groups(const live::SharpPlane& plane);
    std::unique_ptr<Group> open_group(const live::SharpPlane::Group& told);
    net::TreePort& port_of(std::uint32_t hca);
    bool begin_posted(Group& group);
    bool begin(Group& group, std::size_t rank);
    void transmit(Member& member);
    void finish(Group& group, std::size_t rank);
    void deliver(Qpn at, std::span<const std::uint8_t> bytes);
    static void fail(Group& group, sharp::Error error);
    void fail_member(Qpn qpn);
    void fail_connection(const sharp::AggregationTables& tables, Qpn qpn);

    const live::Arena& arena_;
    std::string dir_;
    const Tables& tables_;
    Adapters& adapters_;
    net::Engine& net_;
    int daemon_ = -1;  ///< While something is asked.
    std::uint64_t generation_ = 0;
    std::uint64_t routes_ = 0;
    std::map<std::uint32_t, std::unique_ptr<Node>> nodes_;           ///< By switch.
    std::vector<Node*> node_at_;                                     ///< By port.
    std::map<std::uint32_t, std::unique_ptr<net::TreePort>> ports_;  ///< By HCA.
    std::map<Qpn, std::uint32_t> hca_of_;                            ///< By member's queue pair.
    std::map<Key, std::unique_ptr<Group>> groups_;
    std::vector<hca::Completion> completions_;
    bool behind_ = false;  ///< A turn waits for tables that the daemon has told of.
};

}  // namespace softib::carrier
