// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What can be said over the daemon's socket: a structure for each request, with its reply inside.
// `fields` lists what travels, for codec.h. `NoReply` says that nothing comes back, `StatusOnly`
// that Message::status says all. A structure with a member `file` comes with a file descriptor.
//
// Texts are views: those of what was received are in the message that it came in.

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/ids.h"
#include "core/cm/commands.h"
#include "runtime/shm/protocol.h"

namespace softib::live {

enum class ManagerCommand : std::uint32_t { kStatus = 0, kResweep = 1, kHandOver = 2 };

/// What a cable does to packets, in both directions.
struct WantedFaults {
    static constexpr std::uint32_t kAsBefore = UINT32_MAX;
    std::uint32_t lost_ppm = kAsBefore;
    std::uint32_t broken_ppm = kAsBefore;
    std::uint32_t delay_ns = kAsBefore;
    std::uint32_t rate_mbps = kAsBefore;
};

inline constexpr std::uint32_t kMadForever = UINT32_MAX;
inline constexpr std::uint32_t kMadMessageMax = 64U << 20;
inline constexpr std::size_t kMadPartBytes = 256;  ///< The size of a MAD.

/// Of the packet that carries a MAD: what is not in the MAD.
struct MadFrame {
    std::uint32_t agent = 0;       ///< The sender's business; the answer has it too.
    std::uint32_t timeout_ms = 0;  ///< 0: nobody waits. kMadForever: no timeout.
    std::uint32_t retries = 0;     ///< Further times to wait that long.
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
    std::uint16_t remote_lid = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t sl = 0;
    std::uint8_t path_bits = 0;
    std::uint8_t reserved[2]{};
};
static_assert(sizeof(MadFrame) == 28);

/// The requests that a program wants: those of a class whose method has its bit set.
struct MadAgent {
    std::uint32_t id = 0;
    std::uint8_t mgmt_class = 0;
    std::uint8_t version = 0;
    std::uint8_t rmpp = 0;  ///< 1: long messages are cut and put together for it.
    std::uint8_t reserved = 0;
    std::uint32_t oui = 0;  ///< Vendor classes 0x30 to 0x4F.
    std::uint32_t reserved2 = 0;
    std::uint64_t method_mask[2]{};
};
static_assert(sizeof(MadAgent) == 32);

/// What a member of a SHARP job asks the aggregation manager for.
struct SharpCommand {
    enum Operation : std::uint32_t {
        kCreateJob = 1,    ///< With key, size and quotas; the reply names the job.
        kJoinJob = 2,      ///< As member `rank`, by this HCA.
        kStartJob = 3,     ///< All have joined.
        kCreateGroup = 4,  ///< Of `size` members; the reply names it.
        kJoinGroup = 5,    ///< As `rank` of the group.
        kStartGroup = 6,   ///< All have joined.
        kMapGroup = 7,     ///< The reply comes with the group's memory.
        kLockGroup = 8,    ///< For streaming.
        kLeaveGroup = 9,
        kLeaveJob = 10,
    };
    Operation operation{};
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
    std::uint32_t hca = 0;  ///< Into the arena's table.
    std::uint64_t key = 0;
    std::uint32_t osts = 0;  ///< Quotas; 0: as the manager thinks.
    std::uint32_t payload_bytes = 0;
    std::uint32_t groups = 0;
    std::uint32_t datagrams_only = 0;  ///< kCreateJob: 1: a low-latency tree is enough.
};
static_assert(sizeof(SharpCommand) == 48);

struct SharpReply {
    std::int32_t error = 0;     ///< sharp::Error.
    std::uint32_t pending = 0;  ///< 1: not decided yet; ask again.
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    std::uint32_t osts = 0;
    std::uint32_t payload_bytes = 0;
    std::uint32_t groups = 0;
    std::uint32_t depth = 0;  ///< Of the job's tree.
};
static_assert(sizeof(SharpReply) == 32);

namespace request {

struct NoFields {
    static void fields(auto&, auto&&) {}
};
struct NoReply : NoFields {};
struct StatusOnly : NoFields {};
/// Whoever is asked answers later, or never, by a message of its own; at once only to refuse.
struct Later : NoFields {};
/// A reply that is a file.
struct OneFile : NoFields {
    int file = -1;
};

// --- members of the fabric ------------------------------------------------------------------

/// Makes the connection's process a member of the fabric.
struct Attach {
    static constexpr RequestId kId = RequestId::kAttach;
    std::string_view hosts;  ///< Names, by commas.
    static void fields(auto& self, auto&& each) { each(self.hosts); }

    struct Reply {
        std::uint32_t owner = 0;  ///< Its slot.
        int file = -1;            ///< The arena.
        static void fields(auto& self, auto&& each) { each(self.owner); }
    };
};

/// Asks for the arena, read-only.
struct Observe : NoFields {
    static constexpr RequestId kId = RequestId::kObserve;
    using Reply = OneFile;
};

/// Attaches a queue pair of a member to a multicast group, or detaches it.
struct McastAttach {
    static constexpr RequestId kId = RequestId::kMcastAttach;
    using Reply = StatusOnly;
    Qpn qpn{};
    Lid mlid{};
    Gid mgid{};
    static void fields(auto& self, auto&& each) { each(self.qpn, self.mlid, self.mgid); }
};
struct McastDetach {
    static constexpr RequestId kId = RequestId::kMcastDetach;
    using Reply = StatusOnly;
    Qpn qpn{};
    Lid mlid{};
    Gid mgid{};
    static void fields(auto& self, auto&& each) { each(self.qpn, self.mlid, self.mgid); }
};

/// From the carrier, which is a member: it takes calls now.
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

/// Makes the connection a netlink socket: what follows on it are netlink's datagrams.
struct NetlinkOpen {
    static constexpr RequestId kId = RequestId::kNetlinkOpen;
    using Reply = StatusOnly;
    std::string_view hosts;
    std::uint32_t port_id = 0;  ///< The socket's address.
    static void fields(auto& self, auto&& each) { each(self.hosts, self.port_id); }
};

// --- the operator's hand --------------------------------------------------------------------

/// Writes one entry of a switch's forwarding table.
struct SetRoute {
    static constexpr RequestId kId = RequestId::kSetRoute;
    using Reply = StatusOnly;
    static constexpr std::uint8_t kRemove = 0xFF;
    std::uint32_t switch_index = 0;
    Lid lid{};
    std::uint8_t port = 0;  ///< kRemove: packets to this LID are dropped.
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
    std::uint16_t index = 0;  ///< Into the table.
    PKey pkey{};
    static void fields(auto& self, auto&& each) { each(self.hca, self.index, self.pkey); }
};

/// Gives a cable faults. Packet path only.
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

/// Asks our subnet manager to do something, and how it is.
struct Manager {
    static constexpr RequestId kId = RequestId::kManager;
    ManagerCommand command{};
    static void fields(auto& self, auto&& each) { each(self.command); }

    struct Reply {
        std::string_view master{};  ///< "softib on leaf0, LID 3"; empty: the ports know of none.
        bool ours = false;          ///< Our manager runs here; else nothing below is said.
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
        std::uint64_t others = 0;  ///< Managers that it knows of.
        static void fields(auto& self, auto&& each) {
            each(self.master, self.ours, self.state, self.lid, self.guid, self.priority,
                 self.engine, self.routes, self.adaptive_groups, self.nodes, self.full_sweeps,
                 self.partial_sweeps, self.smps, self.lft_blocks, self.others);
        }
    };
};

/// Asks for what switches hold, as the view of routes reads it.
struct Routes : NoFields {
    static constexpr RequestId kId = RequestId::kRoutes;
    using Reply = OneFile;
};

/// Brings the port totals in the arena up to date. The reply comes when that is done.
struct Settle : NoFields {
    static constexpr RequestId kId = RequestId::kSettle;
    using Reply = StatusOnly;
};

inline constexpr std::size_t kHelpersMax = 8;

enum class HelperState : std::uint8_t {
    kRuns,
    kEnded,    ///< It waits to be started again.
    kStopped,  ///< By a signal, as SIGSTOP.
    kAsked,    ///< It was asked for a sign of life and has not answered yet.
    kSilent,   ///< It has not answered for a second.
};

/// A process that the daemon keeps running.
struct Helper {
    std::string_view name{};
    HelperState state{};
    std::int32_t pid = 0;  ///< 0: it has ended.
    std::uint32_t restarts = 0;
    std::int64_t last_end = 0;  ///< Seconds since 1970; 0: it has not ended yet.
    std::string_view reason{};  ///< Of the last end: "signal 9", "status 1".
};

/// Asks how the daemon's helper processes are.
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

/// What our subnet manager tells of a fabric.
enum class NoticeKind : std::uint8_t {
    kSweep,         ///< A sweep is over: tables are written, ports active.
    kPortAppeared,  ///< `guid` is the port's.
    kPortVanished,
    kTrap,          ///< `trap` came from `lid`.
    kManagerState,  ///< It became master, or standby.
    kRoutingFailed,
    kSilentNode,
    kWarning,
};

struct Notice {
    NoticeKind kind{};
    std::uint16_t trap = 0;
    Lid lid{};
    Guid guid{};
    std::int64_t time_us = 0;  ///< Since 1970.
    std::string_view text{};
};
inline constexpr std::size_t kNoticesPerReply = 16;
inline constexpr std::size_t kNoticeTextMax = 192;

/// Asks for notices of our subnet manager, from a number on. The daemon keeps the last ones.
struct Notices {
    static constexpr RequestId kId = RequestId::kNotices;
    std::uint64_t from = 0;
    static void fields(auto& self, auto&& each) { each(self.from); }

    struct Reply {
        std::uint64_t next = 0;  ///< To ask for after these.
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

/// Lets our subnet manager read the partitions of the fabric's directory again, and write them into
/// all ports. A text that is wrong changes nothing.
struct ReloadPartitions : NoFields {
    static constexpr RequestId kId = RequestId::kReloadPartitions;

    struct Reply {
        std::string_view error{};  ///< Empty: they hold from now on.
        static void fields(auto& self, auto&& each) { each(self.error); }
    };
};

// --- MADs -----------------------------------------------------------------------------------

/// Opens a port of one of the hosts for MADs. After that, only Mad messages come back.
struct MadOpen {
    static constexpr RequestId kId = RequestId::kMadOpen;
    using Reply = StatusOnly;
    std::string_view hosts;
    std::uint32_t hca = 0;
    std::uint16_t port = 0;
    static void fields(auto& self, auto&& each) { each(self.hosts, self.hca, self.port); }
};

/// A MAD to send, or one that came. The answer to one that was sent comes by itself, later or
/// never, as a Mad: with status 0, or the request itself with ETIMEDOUT or ENOBUFS (too many wait),
/// or another error and an empty body.
struct Mad {
    static constexpr RequestId kId = RequestId::kMad;
    using Reply = Later;
    MadFrame frame{};
    /// Of the whole message. One of more than one MAD (the multi-packet protocol, RMPP) comes with
    /// a file that has all of it.
    std::uint32_t bytes = 0;
    std::array<std::uint8_t, kMadPartBytes> first{};  ///< Its first MAD.
    int file = -1;
    static void fields(auto& self, auto&& each) { each(self.frame, self.bytes, self.first); }
};

struct MadRegister {
    static constexpr RequestId kId = RequestId::kMadRegister;
    using Reply = NoReply;
    MadAgent agent{};
    static void fields(auto& self, auto&& each) { each(self.agent); }
};
struct MadUnregister {
    static constexpr RequestId kId = RequestId::kMadUnregister;
    using Reply = NoReply;
    std::uint32_t agent_id = 0;
    static void fields(auto& self, auto&& each) { each(self.agent_id); }
};

/// Sets the IsSM bit of a port until the connection closes.
struct IsManager {
    static constexpr RequestId kId = RequestId::kIsManager;
    using Reply = StatusOnly;
    std::string_view hosts;
    std::uint32_t device = 0;  ///< Index among the hosts' devices.
    static void fields(auto& self, auto&& each) { each(self.hosts, self.device); }
};

/// Reports a packet that a switch port did not let pass or that an HCA did not take for its key,
/// for the trap about it.
struct Refused {
    static constexpr RequestId kId = RequestId::kRefused;
    using Reply = NoReply;
    enum Where : std::uint8_t { kSwitchOut, kSwitchIn, kAdapterPKey, kAdapterQKey };

    std::uint32_t place = 0;  ///< Into the arena's table of switch ports, or of HCAs.
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

/// Reports a port whose cable makes too many errors, for the trap about it.
struct BadLink {
    static constexpr RequestId kId = RequestId::kBadLink;
    using Reply = NoReply;
    std::uint32_t place = 0;  ///< Into the arena's table of switch ports, or of HCAs.
    bool at_switch = false;
    std::uint16_t trap = 0;  ///< Its number.
    static void fields(auto& self, auto&& each) { each(self.place, self.at_switch, self.trap); }
};

// --- connection managers --------------------------------------------------------------------

/// Opens the connection manager of the first host. The program's ids end with the connection.
struct CmOpen {
    static constexpr RequestId kId = RequestId::kCmOpen;
    using Reply = StatusOnly;
    std::string_view hosts;
    static void fields(auto& self, auto&& each) { each(self.hosts); }
};

struct Cm {
    static constexpr RequestId kId = RequestId::kCm;
    cm::Command command{};
    static void fields(auto& self, auto&& each) { each(self.command); }

    struct Reply {
        cm::Reply reply{};
        static void fields(auto& self, auto&& each) { each(self.reply); }
    };
};

/// Makes the connection an event channel: it gets CmEvent messages.
struct CmChannel : NoFields {
    static constexpr RequestId kId = RequestId::kCmChannel;

    struct Reply {
        std::uint32_t channel = 0;  ///< Its name in commands.
        static void fields(auto& self, auto&& each) { each(self.channel); }
    };
};

/// From the daemon to a channel. The next comes after CmNext.
struct CmEvent {
    static constexpr RequestId kId = RequestId::kCmEvent;
    cm::Event event{};
    static void fields(auto& self, auto&& each) { each(self.event); }
};

/// From a channel: its event was taken.
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

/// A member's command. The job ends for all if the connection does before kLeaveJob.
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

/// Asks for what moves packets must know of SHARP (runtime/sharp/plane.h).
struct SharpPlane : NoFields {
    static constexpr RequestId kId = RequestId::kSharpPlane;
    using Reply = OneFile;
};

/// Asks for the memory of a group.
struct SharpMemory {
    static constexpr RequestId kId = RequestId::kSharpMemory;
    std::uint32_t job = 0;
    std::uint32_t group = 0;
    static void fields(auto& self, auto&& each) { each(self.job, self.group); }
    using Reply = OneFile;
};

}  // namespace request

}  // namespace softib::live
