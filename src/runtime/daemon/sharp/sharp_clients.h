// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that use SHARP: passes the commands of their connections to the aggregation manager, and
// keeps the memory that the members of a group share (runtime/sharp/group_memory.h). The steps of a
// reduction in that memory come from the switches' tables. What members count there is added to the
// totals of the ports of the tree.
//
// When a connection closes before its member has left, the member is taken for dead: the job fails
// for all other members, and its resources are freed.

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

namespace softib::daemon {

class SharpClients {
  public:
    /// `arena` and `management` must outlive this object.
    SharpClients(const shm::Arena& arena, Management& management);

    /// Executes a command of a member. Sets `file` if a descriptor must be sent with the reply.
    shm::SharpReply execute(int fd, const shm::SharpCommand& command, int& file,
                            std::uint64_t now_ns);
    /// Ends the membership of a connection that has closed.
    void close(int fd, std::uint64_t now_ns);
    /// Takes changes of the fabric into account: a job whose tree is gone fails. Returns the time
    /// at which it must be called again.
    std::uint64_t follow(std::uint64_t now_ns);
    /// Adds what members have counted to the port totals.
    void settle();

    /// Returns what the carrier must know, which it asks for when ArenaHeader::sharp_generation has
    /// changed.
    sharp::SharpPlane plane() const;
    /// Returns a new descriptor of a group's memory, or -1.
    int share_memory(sharp::JobId job, sharp::GroupId group) const;
    /// Fails all jobs, after the carrier has ended.
    void fail_all(const std::string& reason, std::uint64_t now_ns);

    /// Returns a line for each aggregation node, job, switch of a tree, member and group, with tabs
    /// between fields.
    std::string describe() const;

  private:
    using Key = std::pair<sharp::JobId, sharp::GroupId>;
    struct Client {
        sharp::JobId job = 0;
        std::set<std::uint32_t> ranks{};  ///< Members that have joined by this connection.
    };

    /// Executes a command by our own aggregation manager.
    shm::SharpReply execute_here(int fd, const shm::SharpCommand& command, std::uint64_t now_ns);
    /// Executes a command by an aggregation manager that is a program (sharp_remote.cc).
    shm::SharpReply execute_remote(int fd, const shm::SharpCommand& command, std::uint64_t now_ns);
    /// Returns the jobs of our own manager, or those of one that is a program as far as known here.
    const std::map<sharp::JobId, sharp::JobState>& jobs() const;
    const sharp::JobState* find_job(sharp::JobId id) const;
    void end_group(sharp::JobId job, sharp::GroupId group);
    void end_job(sharp::JobId job);
    void fail_job(sharp::JobId job, sharp::Error error, const std::string& reason);
    /// Returns LID and QPN by which a member is connected to its switch: the LID of its HCA, and a
    /// QPN that no other member has.
    std::expected<std::pair<Lid, Qpn>, sharp::Error> end_of_member(
        int fd, const shm::SharpCommand& command);

    /// Returns the LID of the aggregation manager, which it wrote into switches for their traps.
    Lid manager_lid() const;
    std::expected<wire::SharpJob, sharp::Error> request_of(int fd,
                                                           const shm::SharpCommand& command);
    shm::SharpReply settle_answer(int fd, const wire::SharpJob& answer);
    shm::SharpReply settle_group(sharp::JobState& job, const wire::SharpJob& answer);
    sharp::TreePlan read_plan(const sharp::JobState& job, Lid root) const;
    std::uint64_t keep_alive(std::uint64_t now_ns);
    void fail_remote(sharp::JobId id, sharp::Error error, const std::string& reason);
    void end_remote(sharp::JobId id);
    /// Asks the manager to end a job or a group.
    void tell_end(const wire::SharpJob& end);
    /// Makes a member that leaves wait for the answer to the last tell_end(), if there is none yet.
    shm::SharpReply await_end(int fd);
    /// Returns the reply to a member that waits for such an answer: pending, or done.
    shm::SharpReply still_leaving(int fd);
    /// Notes that a connection no longer waits for such an answer.
    void forget_leaving(int fd);

    shm::SharpReply create_job(int fd, const shm::SharpCommand& command);
    shm::SharpReply join_job(int fd, const shm::SharpCommand& command);
    shm::SharpReply start_job(const shm::SharpCommand& command, std::uint64_t now_ns);
    shm::SharpReply start_group(const shm::SharpCommand& command, std::uint64_t now_ns);
    shm::SharpReply map_group(const shm::SharpCommand& command, int& file);
    shm::SharpReply lock_group(const shm::SharpCommand& command, std::uint64_t now_ns);
    shm::SharpReply leave_group(int fd, const shm::SharpCommand& command, std::uint64_t now_ns);
    shm::SharpReply leave_job(int fd, const shm::SharpCommand& command, std::uint64_t now_ns);
    bool is_member(int fd, const shm::SharpCommand& command) const;
    void watch_routes(std::uint64_t now_ns);
    void run(std::uint64_t now_ns);
    void take_events();
    /// Tells the carrier if aggregation nodes or groups have changed.
    void publish();
    void make_memory(sharp::JobId job, sharp::GroupId group);
    void drop_memory(sharp::JobId job, sharp::Error error);

    const shm::Arena& arena_;
    Management& management_;
    std::map<int, Client> clients_;                          ///< By connection.
    std::map<sharp::JobId, std::set<std::uint32_t>> alive_;  ///< Members that have not left.
    std::map<Key, GroupFile> files_;
    std::map<Key, std::set<std::uint32_t>> left_;  ///< Members of the job that left the group.
    // The rest up to last_end_ is for an aggregation manager that is a program.
    /// Jobs, as the manager's answers describe them.
    std::map<sharp::JobId, sharp::JobState> jobs_;
    /// When the manager is next told that a job is still needed.
    std::map<sharp::JobId, std::uint64_t> alive_due_ns_;
    /// By connection, whether the last answer was "pending", so that its request is sent again.
    std::map<int, bool> clients_asked_again_;
    /// Requests of tell_end() whose answers no connection waits for.
    std::vector<sharp::JobClient::Ticket> ends_;
    /// A request of tell_end().
    struct End {
        sharp::JobClient::Ticket ticket = 0;
        wire::SharpJob told{};
    };
    std::map<int, End> leaving_;  ///< Requests of tell_end() that connections wait for.
    End last_end_{};
    std::uint64_t routes_seen_ = UINT64_MAX;
    std::uint32_t next_qpn_ = 0;
    std::uint64_t files_made_ = 0;
    std::uint64_t published_ = 0;  ///< Count of changes that the carrier was last told of.
};

}  // namespace softib::daemon
