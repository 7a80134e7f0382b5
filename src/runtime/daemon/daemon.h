// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fabric's daemon: gives processes their slot and the arena, notices when they end, and is
// the only writer of what all processes share (routes, links, P_Keys, multicast groups). It is
// not in the data path, and sleeps while nobody asks for anything.
//
// One thread, one epoll. Whatever a client does wrong costs that client its connection and
// nobody else anything: sockets never block the daemon, and there is a limit on everything.

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

namespace softib::live {

inline constexpr std::size_t kConnectionsMax = 65536;  ///< A process may have several.
inline constexpr char kProcDirName[] = "proc";

struct DaemonOptions {
    std::string dir;       ///< The fabric's directory; exists.
    int signal_fd = -1;    ///< signalfd: any signal that arrives ends the daemon.
    int lifeline_fd = -1;  ///< End of file on it ends the daemon.
    ManagementOptions management{};
    AddressMap addresses{};
    spec::Trunks trunks{};
};

class Daemon {
  public:
    /// The arena, built of this fabric, stays the caller's and outlives the daemon.
    Daemon(const Arena& arena, const topo::Fabric& fabric, DaemonOptions options);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    /// Brings the subnet up and opens the socket. The message of an error says what to do.
    std::expected<void, std::string> start();

    /// Starts a helper process and keeps it running for as long as the daemon serves. Started.
    std::expected<void, std::string> supervise(HelperPlan plan);
    /// Returns when none is left, nor what they held.
    void end_helpers() { helpers_.end_all(); }
    /// Calls `tell` once, when programs can use the fabric: with packets when the carrier carries
    /// them for the first time, or has ended before.
    void when_ready(std::function<void()> tell);
    /// The process that carries packets has ended.
    void carrier_ended();
    /// Returns false if it runs and does not answer within a moment.
    bool carrier_answers() const;

    /// Serves until a shutdown request, a signal, or the end of the lifeline. Connections stay
    /// open until the Daemon is destroyed: who asked for the shutdown sees its end by that.
    void run();

    /// Directory of an attached process below the fabric's directory, where it keeps the FIFOs of
    /// its event channels: proc/OWNER-INSTANCE.
    static std::string proc_dir(const std::string& dir, Owner owner, std::uint64_t instance);

  private:
    struct NetlinkSocket {
        std::string hosts;
        std::uint32_t port_id = 0;
        std::deque<std::string> unsent{};  ///< Until the program has read what is before them.
    };

    struct Connection {
        int fd = -1;
        int pid_fd = -1;  ///< -1: not attached, or the kernel cannot tell us.
        std::uint32_t pid = 0;
        Owner owner = 0;  ///< 0: not attached.
        std::uint64_t instance = 0;
        int refusal = 0;  ///< Not 0: the answer to whatever it asks, then it is closed.
        std::uint32_t mad_hca = UINT32_MAX;      ///< Whose MADs it sends; none before MadOpen.
        std::uint32_t manager_hca = UINT32_MAX;  ///< On which it says that it is a manager.
        bool uses_sharp = false;
        bool uses_cm = false;  ///< For commands to a connection manager, or its events.
        std::unique_ptr<NetlinkSocket> netlink{};  ///< It is a netlink socket of a program.
    };

    struct Ended {
        Owner owner;
        std::uint64_t instance;
    };

    // What an epoll event is about: a kind above, a descriptor below.
    static constexpr std::uint64_t kTagListen = std::uint64_t{1} << 32;
    static constexpr std::uint64_t kTagEnd = std::uint64_t{2} << 32;
    static constexpr std::uint64_t kTagConnection = std::uint64_t{3} << 32;
    static constexpr std::uint64_t kTagProcess = std::uint64_t{4} << 32;
    static constexpr std::uint64_t kTagTrunk = std::uint64_t{5} << 32;  ///< Of any trunk.
    static constexpr std::uint64_t kTagHelpers = std::uint64_t{6} << 32;
    static constexpr std::uint64_t kTagKindMask = ~std::uint64_t{0xFFFFFFFF};

    bool watch(int fd, std::uint64_t tag);
    /// Changes what is waited for on a connection.
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

    /// Closes a connection that sent something that is no message, or of another version.
    void drop_unread(Connection& connection, const Message& message, int error);
    template <typename Request>
    void serve(Connection& connection, const Request& request);
    void send_reply(Connection& connection, const Message& message, int passed_fd);
    void refuse(Connection& connection, RequestId request, int error);

    // One for each request (daemon_*.cc). They return 0 or the errno value that is the answer; one
    // whose reply has fields gives them to `answer`.
    int handle(Connection& connection, const request::Attach& request,
               Answer<request::Attach>& answer);
    int handle(Connection& connection, const request::Observe& request,
               Answer<request::Observe>& answer);
    int handle(Connection& connection, const request::McastAttach& request);
    int handle(Connection& connection, const request::McastDetach& request);
    void be_ready();
    int handle(Connection& connection, const request::Carrying& request);
    int handle(Connection& connection, const request::SysfsRead& request,
               Answer<request::SysfsRead>& answer);
    int handle(Connection& connection, const request::FindHost& request,
               Answer<request::FindHost>& answer);
    int handle(Connection& connection, const request::NetlinkOpen& request);
    int handle(Connection& connection, const request::SetRoute& request);
    int handle(Connection& connection, const request::SetLink& request);
    int handle(Connection& connection, const request::SetPower& request);
    int handle(Connection& connection, const request::SetPKey& request);
    int handle(Connection& connection, const request::SetFaults& request);
    int handle(Connection& connection, const request::Shutdown& request);
    int handle(Connection& connection, const request::Settle& request);
    int handle(Connection& connection, const request::Manager& request,
               Answer<request::Manager>& answer);
    int handle(Connection& connection, const request::Routes& request,
               Answer<request::Routes>& answer);
    int handle(Connection& connection, const request::Health& request,
               Answer<request::Health>& answer);
    int handle(Connection& connection, const request::Notices& request,
               Answer<request::Notices>& answer);
    int handle(Connection& connection, const request::ReloadPartitions& request,
               Answer<request::ReloadPartitions>& answer);
    int handle(Connection& connection, const request::MadOpen& request);
    int handle(Connection& connection, const request::Mad& request);
    int handle(Connection& connection, const request::MadRegister& request);
    int handle(Connection& connection, const request::MadUnregister& request);
    int handle(Connection& connection, const request::IsManager& request);
    int handle(Connection& connection, const request::Refused& request);
    int handle(Connection& connection, const request::BadLink& request);
    int handle(Connection& connection, const request::CmOpen& request);
    int handle(Connection& connection, const request::Cm& request, Answer<request::Cm>& answer);
    int handle(Connection& connection, const request::CmChannel& request,
               Answer<request::CmChannel>& answer);
    int handle(Connection& connection, const request::CmNext& request);
    int handle(Connection& connection, const request::CmDescribe& request,
               Answer<request::CmDescribe>& answer);

    int handle(Connection& connection, const request::Sharp& request,
               Answer<request::Sharp>& answer);
    int handle(Connection& connection, const request::SharpDescribe& request,
               Answer<request::SharpDescribe>& answer);
    int handle(Connection& connection, const request::SharpPlane& request,
               Answer<request::SharpPlane>& answer);
    int handle(Connection& connection, const request::SharpMemory& request,
               Answer<request::SharpMemory>& answer);

    std::string master_text() const;
    int tell_manager(const sm::Manager& manager, Answer<request::Manager>& answer) const;
    void send_mad(const Connection& connection, const Message& message, int passed_fd) const;
    /// Hands out MADs and events if a part that makes some has changed. Called after whatever
    /// happens, and before a request is answered.
    void settle();
    /// Lets managers and agents do what is due, and programs have what came for them.
    void hand_out_mads();
    void forget_mads(const Connection& connection);
    void hand_out_cm_events();
    /// Takes requests from a netlink socket, and sends answers while the program reads them.
    void serve_netlink(Connection& connection);
    std::vector<std::string> answer_netlink(const Connection& connection,
                                            std::string_view datagram);
    int wait_ms() const;
    std::expected<void, std::string> open_trunks();
    /// Lets trunks come and go, and takes MADs from them and to them.
    void run_trunks();
    void follow_trunk(std::size_t trunk);

    const Arena& arena_;
    DaemonOptions options_;
    McastTable mcast_;
    ChannelWriter events_;
    bool changed_ = false;  ///< One of the next four was.
    Marked<Management> management_;
    Marked<MadClients> clients_;
    Marked<CmClients> cm_;
    Marked<SharpClients> sharp_;
    std::unordered_map<std::uint32_t, std::uint32_t> managers_;  ///< By HCA: who says so.
    std::uint64_t next_management_ns_ = 0;
    struct Trunk {
        std::unique_ptr<TrunkSocket> socket;
        bool up = false;
        std::uint64_t sessions = 0;         ///< That its socket has seen.
        std::uint64_t refused_to_tell = 1;  ///< So many refused datagrams are worth a line.
    };
    std::vector<Trunk> trunks_;
    std::uint64_t next_trunk_ns_ = UINT64_MAX;
    std::function<void()> tell_ready_;
    Supervisor helpers_;
    int epoll_fd_ = -1;
    int listen_fd_ = -1;
    int spare_fd_ = -1;  ///< Given up to answer a connection when there is no other.
    bool stopping_ = false;
    /// Ended processes that still hold their slot. Freeing takes milliseconds, so it is done one
    /// at a time, after whoever waits for an answer.
    std::deque<Ended> dying_;
    /// Those whose memory a stopped peer may still be copying to; tried again whenever another
    /// process leaves, which is when that peer does at the latest.
    std::vector<Ended> quarantined_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace softib::live
