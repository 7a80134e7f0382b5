// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers requests on a NETLINK_RDMA socket for a virtual host, as Linux does: its devices, ports,
// and the queue pairs, completion queues, regions and endpoints that programs have on them. `rdma`
// of iproute2, UCX and rdma-core's libraries send such requests. The messages are those of
// rdma/rdma_netlink.h. Requests that set something are refused. Requests to the other services of
// that family (path records by ibacm, ports of iWARP) get EINVAL.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cm/host.h"
#include "runtime/shm/arena.h"

namespace softib::daemon {

/// An endpoint of rdma_cm, with its host, HCA and process.
struct CmEndpoint {
    std::uint32_t host = 0;
    std::uint32_t hca = UINT32_MAX;  ///< UINT32_MAX: it is bound to none.
    std::uint32_t pid = 0;
    cm::Host::Endpoint endpoint{};
};

/// The socket that a request came from, and what the daemon knows for the answer.
struct NetlinkView {
    const shm::Arena& arena;
    std::string_view hosts;     ///< As in naming.h.
    std::uint32_t port_id = 0;  ///< The socket's address, which answers have as nlmsg_pid.
    std::function<std::vector<CmEndpoint>()> endpoints{};  ///< Called only if it is needed.
};

/// The most bytes in a datagram with several messages, which fits into the buffers of programs.
inline constexpr std::size_t kNetlinkDatagramBytes = 4096;

/// Returns the datagrams that answer a datagram.
std::vector<std::string> answer_netlink(const NetlinkView& view, std::string_view datagram);

}  // namespace softib::daemon
