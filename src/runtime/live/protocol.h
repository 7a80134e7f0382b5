// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What programs say to softibd over its Unix socket (SOCK_SEQPACKET, one message per packet, at
// most one file descriptor along). The socket stands in the fabric's directory, which only its
// user may enter; the daemon also compares the peer's uid. A connection that said kAttach is the
// process's sign of life: when it closes, the daemon frees what the process held.

#include <cstdint>

namespace softib::live {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr char kSocketName[] = "softibd.sock";
inline constexpr char kPidFileName[] = "softibd.pid";

enum class Request : std::uint32_t {
    kAttach = 1,      ///< text: host names, comma-separated. Reply: owner, arena fd.
    kObserve = 2,     ///< Reply: arena fd, read-only.
    kMcastAttach = 3, ///< qpn, gid, lid.
    kMcastDetach = 4,
    kSysfsRead = 5,   ///< text: HOST '\0' path below the fake root. Reply: text.
    kSetRoute = 6,    ///< index: switch, lid, port (0xFF: remove).
    kSetLink = 7,     ///< text: node name; port; value: 0 down, 1 up.
    kSetPKey = 8,     ///< index: HCA, port: table index, value: P_Key.
    kShutdown = 9,
};

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

}  // namespace softib::live
