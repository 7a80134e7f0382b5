// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What programs say to softibd over its Unix socket (SOCK_SEQPACKET, one message per packet, at
// most one file descriptor along). The socket stands in the fabric's directory, which only its
// user may enter; the daemon also compares the peer's uid. A connection that said kAttach is the
// process's sign of life: when it closes, the daemon frees what the process held.

#include <cstdint>

namespace softib::live {

/// The first word of a message, in every version: who reads another one there says his in the
/// answer, with EPROTONOSUPPORT.
inline constexpr std::uint32_t kProtocolVersion = 2;
inline constexpr std::uint32_t kProtocolVersionMax = 999;  ///< What is larger is no version.
inline constexpr char kSocketName[] = "softibd.sock";
inline constexpr char kPidFileName[] = "softibd.pid";

enum class Request : std::uint32_t {
    kAttach = 1,       ///< text: host names, comma-separated. Reply: owner, arena fd.
    kObserve = 2,      ///< Reply: arena fd, read-only.
    kMcastAttach = 3,  ///< qpn, gid, lid.
    kMcastDetach = 4,
    kSysfsRead = 5,  ///< text: HOST '\0' path below the fake root. Reply: text.
    kSetRoute = 6,   ///< index: switch, lid, port (0xFF: remove).
    kSetLink = 7,    ///< text: node name; port; value: 0 down, 1 up.
    kSetPKey = 8,    ///< index: HCA, port: table index, value: P_Key.
    kShutdown = 9,
    kMadOpen = 10,  ///< text: host names; index: HCA, one of theirs; port. Then kMad may follow.
    kMad = 11,      ///< text: MadFrame, then a MAD. See MadFrame.
    kMadRegister = 12,    ///< text: MadAgent. No reply.
    kMadUnregister = 13,  ///< index: MadAgent::id. No reply.
    kIsManager = 14,      ///< text: host names; index: of their devices. Its port has the IsSM bit
                          ///< until we close.
    kSetPower = 15,       ///< text: switch; value: 0 dead, 1 alive.
    kManager = 16,        ///< value: ManagerCommand. Reply: text.
    kRoutes = 17,         ///< Reply: a file with what routes.h reads.
    kRefused = 18,        ///< text: RefusedPacket. No reply.
    kCmOpen = 19,       ///< text: host names. Then kCm may follow; the ids end with the connection.
    kCm = 20,           ///< text: cm::Command. Reply: text: cm::Reply.
    kCmChannel = 21,    ///< Reply: index: names the connection, which gets kCmEvent messages.
    kCmEvent = 22,      ///< To a channel: text: cm::Event. The next comes after kCmNext.
    kCmNext = 23,       ///< From a channel: its event was taken. No reply.
    kCmDescribe = 24,   ///< Reply: a file with the lines of CmClients::describe.
    kSetFaults = 25,    ///< text: WantedFaults, node name; port. Packet path only.
    kNetlinkOpen = 26,  ///< text: host names; value: the socket's address. Then it is netlink's.
    kFindHost = 27,     ///< text: a host's name. Reply: text: the IP address of its first port.
    kHealth = 28,    ///< Reply: text: a line per helper: name, pid, restarts, time, reason; tabs.
    kCarrying = 29,  ///< From the carrier: it takes calls.
    kSettle = 30,    ///< Brings the port totals in the arena up to date. Reply when that is done.
};

enum class ManagerCommand : std::uint32_t { kStatus = 0, kResweep = 1, kHandOver = 2 };

inline constexpr std::uint32_t kTextMax = 4096;

struct Message {
    std::uint32_t version = kProtocolVersion;
    Request request{};
    std::int32_t status = 0;  ///< Reply: 0 or an errno value.
    std::uint32_t index = 0;
    std::uint32_t qpn = 0;
    std::uint16_t lid = 0;
    std::uint16_t port = 0;
    std::uint32_t value = 0;
    std::uint32_t owner = 0;
    std::uint8_t gid[16]{};
    std::uint32_t text_bytes = 0;
    char text[kTextMax]{};
};

/// What stands before a MAD, and of the packet that carries it what is not in the MAD. A message of
/// more than one MAD (the multi-packet protocol) says its length in Message::value and comes with a
/// file that has all of it. The answer comes by itself, later or never, as a kMad message: status 0
/// and the answer's frame and MAD, or those of the request with ETIMEDOUT or ENOBUFS (too many
/// wait), or another error and no text. A connection that said kMadOpen gets nothing but kMad
/// messages.
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

inline constexpr std::uint32_t kMadForever = UINT32_MAX;
inline constexpr std::uint32_t kMadMessageMax = 64U << 20;

/// Whose requests a program wants: those of a class whose method has its bit set.
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

/// What a cable is to do to packets, in both directions. UINT32_MAX: as before.
struct WantedFaults {
    std::uint32_t lost_ppm = UINT32_MAX;
    std::uint32_t broken_ppm = UINT32_MAX;
    std::uint32_t delay_ns = UINT32_MAX;
    std::uint32_t rate_mbps = UINT32_MAX;
};

/// A packet that a switch port did not let pass or that an adapter did not take for its key, for
/// the trap that tells of it. Or a port whose cable makes too many errors; then `key` is the number
/// of the trap.
struct RefusedPacket {
    enum Where : std::uint8_t {
        kSwitchOut,
        kSwitchIn,
        kAdapterPKey,
        kAdapterQKey,
        kSwitchLink,
        kAdapterLink,
    };

    std::uint32_t place = 0;  ///< Into the arena's table of switch ports, or of HCAs.
    std::uint16_t slid = 0;
    std::uint16_t dlid = 0;
    std::uint32_t source_qpn = 0;
    std::uint32_t dest_qpn = 0;
    std::uint32_t key = 0;
    std::uint8_t sl = 0;
    Where where = kSwitchOut;
    std::uint16_t reserved = 0;
};
static_assert(sizeof(RefusedPacket) == 24);

}  // namespace softib::live
