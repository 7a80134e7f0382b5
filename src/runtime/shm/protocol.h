// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The frame of what programs and softibd say to each other over the daemon's Unix socket
// (SOCK_SEQPACKET, one message per packet, at most one file descriptor along). requests.h has what
// is inside: a structure for each request and each reply. The socket stands in the fabric's
// directory, which only its user may enter; the daemon also compares the peer's uid. A connection
// that asked to attach is the process's sign of life: when it closes, the daemon frees what the
// process held.

#include <cstddef>
#include <cstdint>

namespace softib::live {

/// The first word of a message, in every version. The daemon answers a message of another version
/// with EPROTONOSUPPORT, in its own version.
inline constexpr std::uint32_t kProtocolVersion = 4;
inline constexpr std::uint32_t kProtocolVersionMax = 999;  ///< What is larger is no version.
inline constexpr char kSocketName[] = "softibd.sock";
inline constexpr char kPidFileName[] = "softibd.pid";
/// Its last words are "protocol N, arena N".
inline constexpr char kVersionFileName[] = "softibd.version";

/// Which structure of requests.h a message has.
enum class RequestId : std::uint32_t {
    kNone = 0,
    kAttach = 1,
    kObserve = 2,
    kMcastAttach = 3,
    kMcastDetach = 4,
    kSysfsRead = 5,
    kSetRoute = 6,
    kSetLink = 7,
    kSetPKey = 8,
    kShutdown = 9,
    kMadOpen = 10,
    kMad = 11,
    kMadRegister = 12,
    kMadUnregister = 13,
    kIsManager = 14,
    kSetPower = 15,
    kManager = 16,
    kRoutes = 17,
    kRefused = 18,
    kCmOpen = 19,
    kCm = 20,
    kCmChannel = 21,
    kCmEvent = 22,
    kCmNext = 23,
    kCmDescribe = 24,
    kSetFaults = 25,
    kNetlinkOpen = 26,
    kFindHost = 27,
    kHealth = 28,
    kCarrying = 29,
    kBadLink = 30,
    kSettle = 31,
    kSharp = 32,
    kSharpDescribe = 33,
    kSharpPlane = 34,
    kSharpMemory = 35,
    kNotices = 40,
    kReloadPartitions = 41,
};

inline constexpr std::uint32_t kTextMax = 4096;  ///< Of the longest text in a message.
inline constexpr std::uint32_t kBodyMax = kTextMax + 256;

struct Message {
    std::uint32_t version = kProtocolVersion;
    RequestId request{};      ///< A reply has that of its request.
    std::int32_t status = 0;  ///< Of a reply: 0 or an errno value.
    std::uint32_t body_bytes = 0;
    char body[kBodyMax]{};  ///< Written and read by codec.h. Only the used part travels.
};

inline constexpr std::size_t kMessageHeadBytes = offsetof(Message, body);

}  // namespace softib::live
