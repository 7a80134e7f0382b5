// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The frame of the messages between programs and softibd over the daemon's Unix socket
// (SOCK_SEQPACKET, one message in each packet, with at most one file descriptor). Their contents
// are in requests.h: a structure for each request and each reply. The socket is in the fabric's
// directory, which only its user may enter; the daemon also checks the peer's uid. When a
// connection that attached a process closes, the daemon takes the process for dead and frees what
// it had.

#include <cstddef>
#include <cstdint>

namespace softib::shm {

/// The version of this protocol, which is the first word of a message in every version. The daemon
/// answers a message of another version with EPROTONOSUPPORT, in its own version.
inline constexpr std::uint32_t kProtocolVersion = 4;
inline constexpr std::uint32_t kProtocolVersionMax = 999;  ///< A larger first word is no version.
inline constexpr char kSocketName[] = "softibd.sock";
inline constexpr char kPidFileName[] = "softibd.pid";
/// The file with the daemon's version. Its last words are "protocol N, arena N".
inline constexpr char kVersionFileName[] = "softibd.version";

/// The number of a structure of requests.h.
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

inline constexpr std::uint32_t kTextMax = 4096;  ///< Length of the longest text in a message.
inline constexpr std::uint32_t kBodyMax = kTextMax + 256;

/// A message: a request or a reply.
struct Message {
    std::uint32_t version = kProtocolVersion;
    RequestId request{};      ///< A reply has the number of its request.
    std::int32_t status = 0;  ///< In a reply: 0 or an errno value.
    std::uint32_t body_bytes = 0;
    char body[kBodyMax]{};  ///< Written and read by codec.h. Only the used part is sent.
};

inline constexpr std::size_t kMessageHeadBytes = offsetof(Message, body);

}  // namespace softib::shm
