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
#include <expected>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/sharp/manager/job_client.h"
#include "core/sharp/tree_walk.h"
#include "runtime/daemon/management.h"
#include "runtime/daemon/sharp/group_file.h"
#include "runtime/sharp/plane.h"
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
    /// Follows the fabric: jobs whose tree is gone fail. Returns as Management::run() does.
    std::uint64_t follow(std::uint64_t now_ns);
    /// Adds to the ports' totals what members have counted.
    void settle();

    /// For the carrier, when ArenaHeader::sharp_generation has moved; and a descriptor of a group's
    /// memory, or -1.
    SharpPlane plane() const;
    int share_memory(sharp::JobId job, sharp::GroupId group) const;
    /// What moves the packets of all jobs has ended.
    void fail_all(const std::string& reason, std::uint64_t now_ns);

    /// One line for each node, job, switch of a tree, member and group; fields by tabs.
    std::string describe() const;

  private:
    using Key = std::pair<sharp::JobId, sharp::GroupId>;
    struct Client {
        sharp::JobId job = 0;
        std::set<std::uint32_t> ranks{};  ///< That have joined by this connection.
    };

    /// With our own manager,
    SharpReply execute_here(int fd, const SharpCommand& command, std::uint64_t now_ns);
    /// or with one that is a program (sharp_remote.cc).
    SharpReply execute_remote(int fd, const SharpCommand& command, std::uint64_t now_ns);
    const std::map<sharp::JobId, sharp::JobState>& jobs() const;
    const sharp::JobState* find_job(sharp::JobId id) const;
    void end_group(sharp::JobId job, sharp::GroupId group);
    void end_job(sharp::JobId job);
    void fail_job(sharp::JobId job, sharp::Error error, const std::string& reason);
    std::expected<std::pair<Lid, Qpn>, sharp::Error> end_of_member(int fd,
                                                                   const SharpCommand& command);

    Lid manager_lid() const;
    std::expected<wire::SharpJob, sharp::Error> request_of(int fd, const SharpCommand& command);
    SharpReply settle_answer(int fd, const wire::SharpJob& answer);
    SharpReply settle_group(sharp::JobState& job, const wire::SharpJob& answer);
    sharp::TreePlan read_plan(const sharp::JobState& job, Lid root) const;
    std::uint64_t keep_alive(std::uint64_t now_ns);
    void fail_remote(sharp::JobId id, sharp::Error error, const std::string& reason);
    void end_remote(sharp::JobId id);
    void tell_end(const wire::SharpJob& end);
    /// Lets a member that leaves wait until the manager has done what it was told last.
    SharpReply await_end(int fd);
    SharpReply still_leaving(int fd);
    void forget_leaving(int fd);

    SharpReply create_job(int fd, const SharpCommand& command);
    SharpReply join_job(int fd, const SharpCommand& command);
    SharpReply start_job(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply start_group(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply map_group(const SharpCommand& command, int& file);
    SharpReply lock_group(const SharpCommand& command, std::uint64_t now_ns);
    SharpReply leave_group(int fd, const SharpCommand& command, std::uint64_t now_ns);
    SharpReply leave_job(int fd, const SharpCommand& command, std::uint64_t now_ns);
    bool is_member(int fd, const SharpCommand& command) const;
    void watch_routes(std::uint64_t now_ns);
    void run(std::uint64_t now_ns);
    void take_events();
    void publish();
    void make_memory(sharp::JobId job, sharp::GroupId group);
    void drop_memory(sharp::JobId job, sharp::Error error);

    const Arena& arena_;
    Management& management_;
    std::map<int, Client> clients_;                          ///< By connection.
    std::map<sharp::JobId, std::set<std::uint32_t>> alive_;  ///< Members that have not left.
    std::map<Key, GroupFile> files_;
    std::map<Key, std::set<std::uint32_t>> left_;  ///< Members of the job that left the group.
    /// Of a manager that is a program: jobs as it has told of them,
    std::map<sharp::JobId, sharp::JobState> jobs_;
    std::map<sharp::JobId, std::uint64_t> alive_due_ns_;  ///< when it hears of them again,
    std::map<int, bool> clients_asked_again_;  ///< whose request was pending, by connection,
    /// and what it was told to end, for which nobody waits,
    std::vector<sharp::JobClient::Ticket> ends_;
    struct End {
        sharp::JobClient::Ticket ticket = 0;
        wire::SharpJob told{};
    };
    std::map<int, End> leaving_;  ///< or a connection does.
    End last_end_{};
    std::uint64_t routes_seen_ = UINT64_MAX;
    std::uint32_t next_qpn_ = 0;
    std::uint64_t files_made_ = 0;
    std::uint64_t published_ = 0;  ///< Changes that the carrier was told of.
};

}  // namespace softib::live
