// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The requests that the daemon takes over its socket: a structure for each, with its reply inside.
// `fields` lists the members that are sent, for codec.h. A `Reply` that is `NoReply` means that the
// daemon sends no reply, and `StatusOnly` that the reply is Message::status alone. A structure with
// a member `file` is sent with a file descriptor.
//
// Texts are views. A text of a received structure lies in the Message that it was decoded from, and
// is valid as long as that Message.

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/ids.h"
#include "core/cm/commands.h"
#include "runtime/shm/protocol.h"

namespace softib::shm {

/// What request::Manager asks our subnet manager to do.
enum class ManagerCommand : std::uint32_t { kStatus = 0, kResweep = 1, kHandOver = 2 };

/// The faults of a cable, for packets in both directions. A value that is kAsBefore is not changed.
struct WantedFaults {
    static constexpr std::uint32_t kAsBefore = UINT32_MAX;
    std::uint32_t lost_ppm = kAsBefore;
    std::uint32_t broken_ppm = kAsBefore;
    std::uint32_t delay_ns = kAsBefore;
    std::uint32_t rate_mbps = kAsBefore;
};

/// A MadFrame::timeout_ms without limit.
inline constexpr std::uint32_t kMadForever = UINT32_MAX;
/// The most bytes of a message of several MADs (RMPP).
inline constexpr std::uint32_t kMadMessageMax = 64U << 20;
inline constexpr std::size_t kMadPartBytes = 256;  ///< The size of a MAD.

/// What the sender or the receiver of a MAD must know and the MAD itself does not say.
struct MadFrame {
    std::uint32_t agent = 0;       ///< The sender's agent; the answer has the same.
    std::uint32_t timeout_ms = 0;  ///< 0: no answer is expected. kMadForever: no limit.
    std::uint32_t retries = 0;     ///< How many more times to send the MAD and wait.
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
    std::uint16_t remote_lid = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t sl = 0;
    std::uint8_t path_bits = 0;
    std::uint8_t reserved[2]{};
};
static_assert(sizeof(MadFrame) == 28);

/// The requests that a program wants to get: those of `mgmt_class` whose method has its bit set in
/// `method_mask`.
struct MadAgent {
    std::uint32_t id = 0;
    std::uint8_t mgmt_class = 0;
    std::uint8_t version = 0;
    std::uint8_t rmpp = 0;  ///< 1: the daemon runs RMPP for this agent.
    std::uint8_t reserved = 0;
    std::uint32_t oui = 0;  ///< For vendor classes 0x30 to 0x4F.
    std::uint32_t reserved2 = 0;
    std::uint64_t method_mask[2]{};
};
static_assert(sizeof(MadAgent) == 32);

/// What a member of a SHARP job asks the aggregation manager for.
struct SharpCommand {
    enum Operation : std::uint32_t {
        kCreateJob = 1,    ///< Takes `key`, `size` and quotas; the reply has the job's number.
        kJoinJob = 2,      ///< Joins the job as member `rank`, by `hca`.
        kStartJob = 3,     ///< Starts the job, after all members have joined.
        kCreateGroup = 4,  ///< Creates a group of `size` members; the reply has its number.
        kJoinGroup = 5,    ///< Joins the group as member `rank`.
        kStartGroup = 6,   ///< Starts the group, after all members have joined.
        kMapGroup = 7,     ///< Asks for the group's memory, a file that comes with the reply.
        kLockGroup = 8,    ///< Locks the group's tree for streaming.
        kLeaveGroup = 9,
        kLeaveJob = 10,
    };
    Operation operation{};
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
    std::uint32_t hca = 0;  ///< Index into the arena's HCA table.
    std::uint64_t key = 0;
    std::uint32_t osts = 0;            ///< Quota of kCreateJob; 0: the manager chooses.
    std::uint32_t payload_bytes = 0;   ///< Quota of kCreateJob; 0: the manager chooses.
    std::uint32_t groups = 0;          ///< Quota of kCreateJob; 0: the manager chooses.
    std::uint32_t datagrams_only = 0;  ///< For kCreateJob. 1: a low-latency tree is enough.
};
static_assert(sizeof(SharpCommand) == 48);

/// The aggregation manager's answer to a SharpCommand.
struct SharpReply {
    std::int32_t error = 0;     ///< sharp::Error.
    std::uint32_t pending = 0;  ///< 1: there is no answer yet; the member must ask again.
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    std::uint32_t osts = 0;
    std::uint32_t payload_bytes = 0;
    std::uint32_t groups = 0;
    std::uint32_t depth = 0;  ///< Depth of the job's tree.
};
static_assert(sizeof(SharpReply) == 32);

namespace request {

/// A request or reply without fields.
struct NoFields {
    static void fields(auto&, auto&&) {}
};
/// The Reply of a request to which the daemon sends no reply.
struct NoReply : NoFields {};
/// A reply that is Message::status alone.
struct StatusOnly : NoFields {};
/// The Reply of a request that the daemon replies to at once only in order to refuse it. Its result
/// comes as a message of its own, later or never.
struct Later : NoFields {};
/// A reply that is a file descriptor.
struct OneFile : NoFields {
    int file = -1;
};

// --- members of the fabric ------------------------------------------------------------------

/// Makes the connection's process a member of the fabric.
struct Attach {
    static constexpr RequestId kId = RequestId::kAttach;
    std::string_view hosts;  ///< Names of hosts, separated by commas.
    static void fields(auto& self, auto&& each) { each(self.hosts); }

    struct Reply {
        std::uint32_t owner = 0;  ///< The process's slot in the arena.
        int file = -1;            ///< The arena's file.
        static void fields(auto& self, auto&& each) { each(self.owner); }
    };
};

/// Asks for the arena, read-only.
struct Observe : NoFields {
    static constexpr RequestId kId = RequestId::kObserve;
    using Reply = OneFile;
};

/// Attaches a queue pair of a member to a multicast group.
struct McastAttach {
    static constexpr RequestId kId = RequestId::kMcastAttach;
    using Reply = StatusOnly;
    Qpn qpn{};
    Lid mlid{};
    Gid mgid{};
    static void fields(auto& self, auto&& each) { each(self.qpn, self.mlid, self.mgid); }
};
/// Detaches a queue pair of a member from a multicast group.
struct McastDetach {
    static constexpr RequestId kId = RequestId::kMcastDetach;
    using Reply = StatusOnly;
    Qpn qpn{};
    Lid mlid{};
    Gid mgid{};
    static void fields(auto& self, auto&& each) { each(self.qpn, self.mlid, self.mgid); }
};

/// Tells the daemon that the sender, the carrier, takes calls of programs from now on.
struct Carrying : NoFields {
    static constexpr RequestId kId = RequestId::kCarrying;
    using Reply = StatusOnly;
};

// --- what programs see ----------------------------------------------------------------------

/// Asks for the contents of a file below the host's /sys.
struct SysfsRead {
    static constexpr RequestId kId = RequestId::kSysfsRead;
    std::string_view host;
    std::string_view path;
    static void fields(auto& self, auto&& each) { each(self.host, self.path); }

    struct Reply {
        std::string_view text{};
        static void fields(auto& self, auto&& each) { each(self.text); }
    };
};

/// Asks for the IP address of a host's first port.
struct FindHost {
    static constexpr RequestId kId = RequestId::kFindHost;
    std::string_view name;
    static void fields(auto& self, auto&& each) { each(self.name); }

    struct Reply {
        std::string_view address{};
        static void fields(auto& self, auto&& each) { each(self.address); }
    };
};

/// Makes the connection a netlink socket: from now on both sides send netlink messages over it.
struct NetlinkOpen {
    static constexpr RequestId kId = RequestId::kNetlinkOpen;
    using Reply = StatusOnly;
    std::string_view hosts;
    std::uint32_t port_id = 0;  ///< The netlink address (nl_pid) of the socket.
    static void fields(auto& self, auto&& each) { each(self.hosts, self.port_id); }
};

// --- what operators change ------------------------------------------------------------------

/// Writes one entry of a switch's forwarding table.
struct SetRoute {
    static constexpr RequestId kId = RequestId::kSetRoute;
    using Reply = StatusOnly;
    static constexpr std::uint8_t kRemove = 0xFF;
    std::uint32_t switch_index = 0;
    Lid lid{};
    std::uint8_t port = 0;  ///< Output port; kRemove: the switch drops packets to this LID.
    static void fields(auto& self, auto&& each) { each(self.switch_index, self.lid, self.port); }
};

/// Plugs a cable in, or pulls it.
struct SetLink {
    static constexpr RequestId kId = RequestId::kSetLink;
    using Reply = StatusOnly;
    std::string_view node;
    std::uint8_t port = 0;
    bool up = false;
    static void fields(auto& self, auto&& each) { each(self.node, self.port, self.up); }
};

/// Turns a switch off, or on again.
struct SetPower {
    static constexpr RequestId kId = RequestId::kSetPower;
    using Reply = StatusOnly;
    std::string_view switch_name;
    bool on = false;
    static void fields(auto& self, auto&& each) { each(self.switch_name, self.on); }
};

/// Writes one entry of an HCA's P_Key table.
struct SetPKey {
    static constexpr RequestId kId = RequestId::kSetPKey;
    using Reply = StatusOnly;
    std::uint32_t hca = 0;
    std::uint16_t index = 0;  ///< Index into the P_Key table.
    PKey pkey{};
    static void fields(auto& self, auto&& each) { each(self.hca, self.index, self.pkey); }
};

/// Sets the faults of the cable at a port. Packet path only.
struct SetFaults {
    static constexpr RequestId kId = RequestId::kSetFaults;
    using Reply = StatusOnly;
    std::string_view node;
    std::uint16_t port = 0;
    WantedFaults faults{};
    static void fields(auto& self, auto&& each) { each(self.node, self.port, self.faults); }
};

/// Ends the fabric.
struct Shutdown : NoFields {
    static constexpr RequestId kId = RequestId::kShutdown;
    using Reply = StatusOnly;
};

// --- what operators ask ---------------------------------------------------------------------

/// Gives our subnet manager a command, and asks for its state.
struct Manager {
    static constexpr RequestId kId = RequestId::kManager;
    ManagerCommand command{};
    static void fields(auto& self, auto&& each) { each(self.command); }

    struct Reply {
        std::string_view master{};  ///< "softib on leaf0, LID 3"; empty: ports know no master.
        bool ours = false;  ///< Whether our manager runs; if not, the members below are not set.
        std::string_view state{};
        Lid lid{};
        Guid guid{};
        std::uint8_t priority = 0;
        std::string_view engine{};
        std::string_view routes{};
        std::uint64_t adaptive_groups = 0;
        std::uint64_t nodes = 0;
        std::uint64_t full_sweeps = 0;
        std::uint64_t partial_sweeps = 0;
        std::uint64_t smps = 0;
        std::uint64_t lft_blocks = 0;
        std::uint64_t others = 0;  ///< Number of other managers that our manager knows of.
        static void fields(auto& self, auto&& each) {
            each(self.master, self.ours, self.state, self.lid, self.guid, self.priority,
                 self.engine, self.routes, self.adaptive_groups, self.nodes, self.full_sweeps,
                 self.partial_sweeps, self.smps, self.lft_blocks, self.others);
        }
    };
};

/// Asks for tables of all switches, as a RouteFile (route_file.h).
struct Routes : NoFields {
    static constexpr RequestId kId = RequestId::kRoutes;
    using Reply = OneFile;
};

/// Brings the port totals in the arena up to date (counters.h). The reply comes when that is done.
struct Settle : NoFields {
    static constexpr RequestId kId = RequestId::kSettle;
    using Reply = StatusOnly;
};

inline constexpr std::size_t kHelpersMax = 8;

enum class HelperState : std::uint8_t {
    kRuns,
    kEnded,    ///< It has ended, and the daemon will start it again.
    kStopped,  ///< It was stopped by a signal, as SIGSTOP.
    kAsked,    ///< The daemon asked it for a sign of life, and it has not answered yet.
    kSilent,   ///< It has not answered for a second.
};

/// A process that the daemon keeps running.
struct Helper {
    std::string_view name{};
    HelperState state{};
    std::int32_t pid = 0;  ///< 0: it has ended.
    std::uint32_t restarts = 0;
    std::int64_t last_end = 0;  ///< Seconds since 1970; 0: it has not ended yet.
    std::string_view reason{};  ///< Why it last ended: "signal 9", "status 1".
};

/// Asks for the states of the daemon's helper processes.
struct Health : NoFields {
    static constexpr RequestId kId = RequestId::kHealth;

    struct Reply {
        std::uint32_t count = 0;
        std::array<Helper, kHelpersMax> helpers{};
        static void fields(auto& self, auto&& each) {
            each(self.count);
            for (std::size_t i = 0; i < self.count && i < kHelpersMax; ++i) {
                auto& helper = self.helpers[i];
                each(helper.name, helper.state, helper.pid, helper.restarts, helper.last_end,
                     helper.reason);
            }
        }
    };
};

/// Kinds of events that our subnet manager reports.
enum class NoticeKind : std::uint8_t {
    kSweep,         ///< A sweep is over: tables are written, ports active.
    kPortAppeared,  ///< The port with `guid` was found.
    kPortVanished,  ///< The port with `guid` is gone.
    kTrap,          ///< The trap with number `trap` came from `lid`.
    kManagerState,  ///< Our manager became master or standby.
    kRoutingFailed,
    kSilentNode,
    kWarning,
};

/// An event that our subnet manager reports.
struct Notice {
    NoticeKind kind{};
    std::uint16_t trap = 0;
    Lid lid{};
    Guid guid{};
    std::int64_t time_us = 0;  ///< Microseconds since 1970.
    std::string_view text{};
};
inline constexpr std::size_t kNoticesPerReply = 16;
inline constexpr std::size_t kNoticeTextMax = 192;

/// Asks for the notices of our subnet manager from number `from` on. The daemon keeps the newest
/// ones only.
struct Notices {
    static constexpr RequestId kId = RequestId::kNotices;
    std::uint64_t from = 0;
    static void fields(auto& self, auto&& each) { each(self.from); }

    struct Reply {
        std::uint64_t next = 0;  ///< The `from` of the next request.
        std::uint32_t count = 0;
        std::array<Notice, kNoticesPerReply> notices{};
        static void fields(auto& self, auto&& each) {
            each(self.next, self.count);
            for (std::size_t i = 0; i < self.count && i < kNoticesPerReply; ++i) {
                auto& notice = self.notices[i];
                each(notice.kind, notice.trap, notice.lid, notice.guid, notice.time_us,
                     notice.text);
            }
        }
    };
};

/// Makes our subnet manager read the partitions file of the fabric's directory again and write the
/// P_Keys into all ports. If the file has an error, nothing changes.
struct ReloadPartitions : NoFields {
    static constexpr RequestId kId = RequestId::kReloadPartitions;

    struct Reply {
        std::string_view error{};  ///< What is wrong with the file; empty: nothing.
        static void fields(auto& self, auto&& each) { each(self.error); }
    };
};

// --- MADs -----------------------------------------------------------------------------------

/// Opens a port of one of the hosts for MADs. After its reply, the daemon sends only Mad messages
/// over the connection.
struct MadOpen {
    static constexpr RequestId kId = RequestId::kMadOpen;
    using Reply = StatusOnly;
    std::string_view hosts;
    std::uint32_t hca = 0;
    std::uint16_t port = 0;
    static void fields(auto& self, auto&& each) { each(self.hosts, self.hca, self.port); }
};

/// A MAD that the program sends, or one that the daemon passes to the program. The answer to a sent
/// MAD comes as a Mad with status 0, later or never. The daemon returns the sent MAD with status
/// ETIMEDOUT if no answer came in time, ENOBUFS if too many MADs wait, or EINVAL if it is longer
/// than one MAD and its agent does not use RMPP. Any other error comes with an empty body.
struct Mad {
    static constexpr RequestId kId = RequestId::kMad;
    using Reply = Later;
    MadFrame frame{};
    /// Size of the whole message. A message of more than one MAD (RMPP) comes with a file that has
    /// all of it.
    std::uint32_t bytes = 0;
    std::array<std::uint8_t, kMadPartBytes> first{};  ///< The first MAD of the message.
    int file = -1;
    static void fields(auto& self, auto&& each) { each(self.frame, self.bytes, self.first); }
};

/// Registers an agent: from now on the daemon passes the requests that it wants to the program.
struct MadRegister {
    static constexpr RequestId kId = RequestId::kMadRegister;
    using Reply = NoReply;
    MadAgent agent{};
    static void fields(auto& self, auto&& each) { each(self.agent); }
};
/// Removes an agent that MadRegister registered.
struct MadUnregister {
    static constexpr RequestId kId = RequestId::kMadUnregister;
    using Reply = NoReply;
    std::uint32_t agent_id = 0;
    static void fields(auto& self, auto&& each) { each(self.agent_id); }
};

/// Sets the IsSM bit of a port's CapabilityMask until the connection closes.
struct IsManager {
    static constexpr RequestId kId = RequestId::kIsManager;
    using Reply = StatusOnly;
    std::string_view hosts;
    std::uint32_t device = 0;  ///< Index among the hosts' devices.
    static void fields(auto& self, auto&& each) { each(self.hosts, self.device); }
};

/// Reports a packet that a switch port or an HCA refused because of its P_Key or Q_Key. The daemon
/// sends the trap about it.
struct Refused {
    static constexpr RequestId kId = RequestId::kRefused;
    using Reply = NoReply;
    enum Where : std::uint8_t { kSwitchOut, kSwitchIn, kAdapterPKey, kAdapterQKey };

    std::uint32_t place = 0;  ///< Index into the arena's table of switch ports, or of HCAs.
    Lid slid{};
    Lid dlid{};
    Qpn source_qpn{};
    Qpn dest_qpn{};
    std::uint32_t key = 0;  ///< The P_Key or Q_Key.
    std::uint8_t sl = 0;
    Where where = kSwitchOut;
    static void fields(auto& self, auto&& each) {
        each(self.place, self.slid, self.dlid, self.source_qpn, self.dest_qpn, self.key, self.sl,
             self.where);
    }
};

/// Reports a port whose cable makes too many errors. The daemon sends the trap about it.
struct BadLink {
    static constexpr RequestId kId = RequestId::kBadLink;
    using Reply = NoReply;
    std::uint32_t place = 0;  ///< Index into the arena's table of switch ports, or of HCAs.
    bool at_switch = false;
    std::uint16_t trap = 0;  ///< The trap's number.
    static void fields(auto& self, auto&& each) { each(self.place, self.at_switch, self.trap); }
};

// --- connection managers --------------------------------------------------------------------

/// Opens the CM of the first host. The program's rdma_cm ids end when the connection closes.
struct CmOpen {
    static constexpr RequestId kId = RequestId::kCmOpen;
    using Reply = StatusOnly;
    std::string_view hosts;
    static void fields(auto& self, auto&& each) { each(self.hosts); }
};

/// A command to the CM.
struct Cm {
    static constexpr RequestId kId = RequestId::kCm;
    cm::Command command{};
    static void fields(auto& self, auto&& each) { each(self.command); }

    struct Reply {
        cm::Reply reply{};
        static void fields(auto& self, auto&& each) { each(self.reply); }
    };
};

/// Makes the connection an event channel: the daemon sends CmEvent messages over it.
struct CmChannel : NoFields {
    static constexpr RequestId kId = RequestId::kCmChannel;

    struct Reply {
        std::uint32_t channel = 0;  ///< The channel's name in commands.
        static void fields(auto& self, auto&& each) { each(self.channel); }
    };
};

/// An event that the daemon sends to a channel. It sends the next one after CmNext.
struct CmEvent {
    static constexpr RequestId kId = RequestId::kCmEvent;
    cm::Event event{};
    static void fields(auto& self, auto&& each) { each(self.event); }
};

/// Tells the daemon that the program took the last event of this channel.
struct CmNext : NoFields {
    static constexpr RequestId kId = RequestId::kCmNext;
    using Reply = NoReply;
};

/// Asks for the lines of CmClients::describe.
struct CmDescribe : NoFields {
    static constexpr RequestId kId = RequestId::kCmDescribe;
    using Reply = OneFile;
};

// --- the aggregation manager ------------------------------------------------------------------

/// A command of a member of a SHARP job. If the connection closes before kLeaveJob, the job ends
/// for all members.
struct Sharp {
    static constexpr RequestId kId = RequestId::kSharp;
    SharpCommand command{};
    static void fields(auto& self, auto&& each) { each(self.command); }

    struct Reply {
        SharpReply reply{};
        int file = -1;
        static void fields(auto& self, auto&& each) { each(self.reply); }
    };
};

/// Asks for the lines of SharpClients::describe.
struct SharpDescribe : NoFields {
    static constexpr RequestId kId = RequestId::kSharpDescribe;
    using Reply = OneFile;
};

/// Asks for what the carrier must know of SHARP (runtime/sharp/plane.h).
struct SharpPlane : NoFields {
    static constexpr RequestId kId = RequestId::kSharpPlane;
    using Reply = OneFile;
};

/// Asks for the memory of a SHARP group.
struct SharpMemory {
    static constexpr RequestId kId = RequestId::kSharpMemory;
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    static void fields(auto& self, auto&& each) { each(self.job, self.group); }
    using Reply = OneFile;
};

}  // namespace request

}  // namespace softib::shm
