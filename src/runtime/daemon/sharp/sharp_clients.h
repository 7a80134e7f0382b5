// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that use SHARP, between their connections and the aggregation manager: jobs with their
// members, groups with the memory that their members share on the direct path
// (runtime/sharp/group_memory.h). The steps of a reduction in that memory come from the switches'
// tables, and what members count there goes to the ports of the tree.
//
// A connection is a member's sign of life. When it closes before the member has left, the job fails
// for all others, and its resources are free again.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/sharp/tree_walk.h"
#include "runtime/daemon/management.h"
#include "runtime/daemon/sharp/group_file.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/requests.h"

namespace softib::live {

class SharpClients {
  public:
    /// Both outlive it.
    SharpClients(const Arena& arena, Management& management);

    /// Does as a member commands. `file` becomes a descriptor to pass along, or stays -1.
    SharpReply execute(int fd, const SharpCommand& command, int& file, std::uint64_t now_ns);
    /// A connection has closed.
    void close(int fd, std::uint64_t now_ns);
    /// Follows the fabric: jobs whose tree is gone fail.
    void follow(std::uint64_t now_ns);
    /// Adds to the ports' totals what members have counted.
    void settle();

    /// One line for each node, job, switch of a tree, member and group; fields by tabs.
    std::string describe() const;

  private:
    using Key = std::pair<sharp::JobId, sharp::GroupId>;
    struct Client {
        sharp::JobId job = 0;
        std::set<std::uint32_t> ranks{};  ///< That have joined by this connection.
    };

    SharpReply create_job(int fd, const SharpCommand& command);
    SharpReply join_job(int fd, const SharpCommand& command);
    SharpReply start_job(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply start_group(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply map_group(const SharpCommand& command, int& file);
    SharpReply lock_group(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply leave_group(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply leave_job(int fd, const SharpCommand& command, std::uint64_t now_ns);
    bool is_member(int fd, const SharpCommand& command) const;
    void read_routes();
    void run(std::uint64_t now_ns);
    void take_events();
    void make_memory(sharp::JobId job, sharp::GroupId group);
    void drop_memory(sharp::JobId job, sharp::Error error);

    const Arena& arena_;
    Management& management_;
    std::map<int, Client> clients_;                          ///< By connection.
    std::map<sharp::JobId, std::set<std::uint32_t>> alive_;  ///< Members that have not left.
    std::map<Key, GroupFile> files_;
    std::map<Key, std::set<std::uint32_t>> left_;  ///< Members of the job that left the group.
    std::uint64_t routes_seen_ = UINT64_MAX;
    std::uint32_t next_qpn_ = 0;
};

}  // namespace softib::live
