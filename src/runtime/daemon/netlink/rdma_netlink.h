// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What Linux answers on a socket of NETLINK_RDMA, for a virtual host: its devices, ports, and the
// queue pairs, completion queues, regions and endpoints that programs have on them. `rdma` of
// iproute2 asks so, UCX and rdma-core's own libraries do. The messages are those of
// rdma/rdma_netlink.h, and only its questions: nothing can be set. Of the other services of that
// family (path records by ibacm, ports of iWARP) the kernel here has none: EINVAL.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cm/host.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// An endpoint of rdma_cm and whose it is.
struct CmEndpoint {
    std::uint32_t host = 0;
    std::uint32_t hca = UINT32_MAX;  ///< UINT32_MAX: bound to none.
    std::uint32_t pid = 0;
    cm::Host::Endpoint endpoint{};
};

/// Who asks, and what only the daemon knows.
struct NetlinkView {
    const Arena& arena;
    std::string_view hosts;     ///< As in naming.h.
    std::uint32_t port_id = 0;  ///< The socket's address, which answers carry.
    std::function<std::vector<CmEndpoint>()> endpoints{};  ///< Asked only where they are wanted.
};

/// Datagrams of this size at most fit into what programs receive with.
inline constexpr std::size_t kNetlinkDatagramBytes = 4096;

/// The datagrams that answer one.
std::vector<std::string> answer_netlink(const NetlinkView& view, std::string_view datagram);

}  // namespace softib::live
