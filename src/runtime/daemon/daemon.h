// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fabric's daemon: gives processes their slot and the arena, notices when they end, and is the
// only writer of what all processes share (routes, links, P_Keys, multicast groups). It is not in
// the data path, and sleeps while there are no requests.
//
// One thread, one epoll. A client that does something wrong loses its connection and harms no other
// client: sockets never block the daemon, and everything has a limit.

#include <array>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/daemon/answer.h"
#include "runtime/daemon/cm/cm_clients.h"
#include "runtime/daemon/mad/mad_clients.h"
#include "runtime/daemon/management.h"
#include "runtime/daemon/marked.h"
#include "runtime/daemon/mcast_table.h"
#include "runtime/daemon/sharp/sharp_clients.h"
#include "runtime/daemon/supervisor.h"
#include "runtime/daemon/trunk_socket.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/channel.h"
#include "runtime/shm/requests.h"
#include "runtime/shm/types.h"

namespace softib::daemon {

inline constexpr std::size_t kConnectionsMax = 65536;  ///< A process may have several.
inline constexpr char kProcDirName[] = "proc";

struct DaemonOptions {
    std::string dir;       ///< The fabric's directory, which must exist.
    int signal_fd = -1;    ///< A signalfd; any signal that arrives there ends the daemon.
    int lifeline_fd = -1;  ///< A descriptor on which end of file ends the daemon.
    ManagementOptions management{};
    AddressMap addresses{};
    spec::Trunks trunks{};
};

class Daemon {
  public:
    /// `arena` was built from `fabric`. It belongs to the caller and must outlive the daemon.
    Daemon(const shm::Arena& arena, const topo::Fabric& fabric, DaemonOptions options);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    /// Brings the subnet up and opens the socket. The error is a text for the user.
    std::expected<void, std::string> start();

    /// Starts a helper process and keeps it running as long as the daemon runs. Only after start().
    std::expected<void, std::string> supervise(HelperPlan plan);
    /// Ends all helper processes, and returns when all have ended.
    void end_helpers() { helpers_.end_all(); }
    /// Calls `tell` once, when programs can use the fabric. On the packet path that is when the
    /// carrier first sends request::Carrying, or when it ends before.
    void when_ready(std::function<void()> tell);
    /// Does what the end of the carrier requires.
    void carrier_ended();
    /// Returns false if the carrier runs and does not answer within a moment.
    bool carrier_answers() const;

    /// Serves until a shutdown request, a signal, or the end of the lifeline. Connections stay open
    /// until the Daemon is destroyed: a client that asked for the shutdown sees its end by that.
    void run();

    /// Returns the directory of an attached process, proc/OWNER-INSTANCE in the fabric's directory,
    /// where the process keeps the FIFOs of its event channels.
    static std::string proc_dir(const std::string& dir, shm::Owner owner, std::uint64_t instance);

  private:
    /// A netlink socket of a program.
    struct NetlinkSocket {
        std::string hosts;
        std::uint32_t port_id = 0;
        std::deque<std::string> unsent{};  ///< Answers for which the socket has no room yet.
    };

    struct Connection {
        int fd = -1;
        int pid_fd = -1;  ///< The client's pidfd; -1: not watched.
        std::uint32_t pid = 0;
        shm::Owner owner = 0;  ///< 0: not attached.
        std::uint64_t instance = 0;
        int refusal = 0;  ///< Not 0: the answer to its first request; then it is closed.
        std::uint32_t mad_hca = UINT32_MAX;      ///< HCA of its MADs; UINT32_MAX: before MadOpen.
        std::uint32_t manager_hca = UINT32_MAX;  ///< HCA whose IsSM bit it has set.
        bool uses_sharp = false;
        bool uses_cm = false;  ///< It is for commands to the CM, or for its events.
        std::unique_ptr<NetlinkSocket> netlink{};  ///< Not null: it is a netlink socket.
    };

    /// A process that has ended.
    struct Ended {
        shm::Owner owner;
        std::uint64_t instance;
    };

    // Tags of epoll events: a kind in the upper 32 bits, and a descriptor in the lower.
    static constexpr std::uint64_t kTagListen = std::uint64_t{1} << 32;
    static constexpr std::uint64_t kTagEnd = std::uint64_t{2} << 32;
    static constexpr std::uint64_t kTagConnection = std::uint64_t{3} << 32;
    static constexpr std::uint64_t kTagProcess = std::uint64_t{4} << 32;
    static constexpr std::uint64_t kTagTrunk = std::uint64_t{5} << 32;  ///< Any trunk.
    static constexpr std::uint64_t kTagHelpers = std::uint64_t{6} << 32;
    static constexpr std::uint64_t kTagKindMask = ~std::uint64_t{0xFFFFFFFF};

    /// Waits for input on a descriptor from now on.
    bool watch(int fd, std::uint64_t tag);
    /// Changes the epoll events that are waited for on a connection.
    void watch_for(const Connection& connection, std::uint32_t events);
    void accept_all();
    void accept_one(int fd);
    bool turn_away();
    void serve(Connection& connection);
    void drop(int fd);
    bool lives_on(const Connection& connection) const;
    void detach(Connection& connection);
    void reclaim_one();
    void drop_if_process_ended(int fd);
    void watch_process(Connection& connection);

    /// Closes a connection that sent something other than a message of this version.
    void drop_unread(Connection& connection, const shm::Message& message, int error);
    template <typename Request>
    void serve(Connection& connection, const Request& request);
    void send_reply(Connection& connection, const shm::Message& message, int passed_fd);
    void refuse(Connection& connection, shm::RequestId request, int error);

    // A handler for each request (daemon_*.cc). It returns 0 or an errno value, which becomes the
    // status of the reply. If the reply has fields, it gives them to `answer`.
    int handle(Connection& connection, const shm::request::Attach& request,
               Answer<shm::request::Attach>& answer);
    int handle(Connection& connection, const shm::request::Observe& request,
               Answer<shm::request::Observe>& answer);
    int handle(Connection& connection, const shm::request::McastAttach& request);
    int handle(Connection& connection, const shm::request::McastDetach& request);
    /// Calls the function of when_ready(), if it was not called yet.
    void be_ready();
    int handle(Connection& connection, const shm::request::Carrying& request);
    int handle(Connection& connection, const shm::request::SysfsRead& request,
               Answer<shm::request::SysfsRead>& answer);
    int handle(Connection& connection, const shm::request::FindHost& request,
               Answer<shm::request::FindHost>& answer);
    int handle(Connection& connection, const shm::request::NetlinkOpen& request);
    int handle(Connection& connection, const shm::request::SetRoute& request);
    int handle(Connection& connection, const shm::request::SetLink& request);
    int handle(Connection& connection, const shm::request::SetPower& request);
    int handle(Connection& connection, const shm::request::SetPKey& request);
    int handle(Connection& connection, const shm::request::SetFaults& request);
    int handle(Connection& connection, const shm::request::Shutdown& request);
    int handle(Connection& connection, const shm::request::Settle& request);
    int handle(Connection& connection, const shm::request::Manager& request,
               Answer<shm::request::Manager>& answer);
    int handle(Connection& connection, const shm::request::Routes& request,
               Answer<shm::request::Routes>& answer);
    int handle(Connection& connection, const shm::request::Health& request,
               Answer<shm::request::Health>& answer);
    int handle(Connection& connection, const shm::request::Notices& request,
               Answer<shm::request::Notices>& answer);
    int handle(Connection& connection, const shm::request::ReloadPartitions& request,
               Answer<shm::request::ReloadPartitions>& answer);
    int handle(Connection& connection, const shm::request::MadOpen& request);
    int handle(Connection& connection, const shm::request::Mad& request);
    int handle(Connection& connection, const shm::request::MadRegister& request);
    int handle(Connection& connection, const shm::request::MadUnregister& request);
    int handle(Connection& connection, const shm::request::IsManager& request);
    int handle(Connection& connection, const shm::request::Refused& request);
    int handle(Connection& connection, const shm::request::BadLink& request);
    int handle(Connection& connection, const shm::request::CmOpen& request);
    int handle(Connection& connection, const shm::request::Cm& request,
               Answer<shm::request::Cm>& answer);
    int handle(Connection& connection, const shm::request::CmChannel& request,
               Answer<shm::request::CmChannel>& answer);
    int handle(Connection& connection, const shm::request::CmNext& request);
    int handle(Connection& connection, const shm::request::CmDescribe& request,
               Answer<shm::request::CmDescribe>& answer);

    int handle(Connection& connection, const shm::request::Sharp& request,
               Answer<shm::request::Sharp>& answer);
    int handle(Connection& connection, const shm::request::SharpDescribe& request,
               Answer<shm::request::SharpDescribe>& answer);
    int handle(Connection& connection, const shm::request::SharpPlane& request,
               Answer<shm::request::SharpPlane>& answer);
    int handle(Connection& connection, const shm::request::SharpMemory& request,
               Answer<shm::request::SharpMemory>& answer);

    std::string master_text() const;
    int tell_manager(const sm::Manager& manager, Answer<shm::request::Manager>& answer) const;
    void send_mad(const Connection& connection, const shm::Message& message, int passed_fd) const;
    /// Calls hand_out_mads() if a part that produces MADs has changed. Called after every epoll
    /// event, and before a request is answered.
    void settle();
    /// Runs managers and agents until nothing is due, and sends programs the MADs and CM events
    /// that came for them.
    void hand_out_mads();
    /// Ends what a connection has with the CM, SHARP and MADs.
    void forget_mads(const Connection& connection);
    void hand_out_cm_events();
    /// Takes a request from a netlink socket, and sends as many answers as the socket has room for.
    void serve_netlink(Connection& connection);
    std::vector<std::string> answer_netlink(const Connection& connection,
                                            std::string_view datagram);
    int wait_ms() const;
    std::expected<void, std::string> open_trunks();
    /// Notices trunks that come up and go down, and moves MADs between trunks and the mesh.
    void run_trunks();
    /// Tells Management whether the other end of a trunk is there, if that has changed.
    void follow_trunk(std::size_t trunk);

    const shm::Arena& arena_;
    DaemonOptions options_;
    McastTable mcast_;
    shm::ChannelWriter events_;
    bool changed_ = false;  ///< Whether one of the next four was changed.
    Marked<Management> management_;
    Marked<MadClients> clients_;
    Marked<CmClients> cm_;
    Marked<SharpClients> sharp_;
    /// For each HCA, how many connections have set its IsSM bit.
    std::unordered_map<std::uint32_t, std::uint32_t> managers_;
    std::uint64_t next_management_ns_ = 0;
    struct Trunk {
        std::unique_ptr<TrunkSocket> socket;
        bool up = false;
        std::uint64_t sessions = 0;         ///< Session::sessions() when it came up.
        std::uint64_t refused_to_tell = 1;  ///< Refused datagrams that cause the next warning.
    };
    std::vector<Trunk> trunks_;
    std::uint64_t next_trunk_ns_ = UINT64_MAX;
    std::function<void()> tell_ready_;
    Supervisor helpers_;
    int epoll_fd_ = -1;
    int listen_fd_ = -1;
    int spare_fd_ = -1;  ///< Closed to make room for turn_away().
    bool stopping_ = false;
    /// Ended processes that still have their slot. Freeing one takes milliseconds, so the daemon
    /// frees one at a time, after it has answered waiting clients.
    std::deque<Ended> dying_;
    /// Ended processes whose memory a stopped peer may still be copying to. The daemon tries to
    /// free them again whenever a process leaves, at the latest when the stopped peer does.
    std::vector<Ended> quarantined_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace softib::daemon
