// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The objects that programs have on a device, each as the attributes that tell of it in a message
// of NETLINK_RDMA. Only rdma_netlink.cc includes this.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/daemon/netlink/rdma_netlink.h"
#include "runtime/shm/netlink_message.h"

namespace softib::live {

struct Resource {
    std::uint32_t id = 0;
    std::uint32_t port = 0;  ///< 0: it is the device's.
    AttributeList attributes{};
};

struct ResourceKind {
    const char* name;       ///< In a summary.
    std::uint16_t command;  ///< RDMA_NLDEV_CMD_RES_*_GET
    std::uint16_t table;    ///< The attribute with all of them,
    std::uint16_t entry;    ///< that of one in it,
    std::uint16_t id;       ///< and that which names one.
    std::vector<Resource> (*list)(const NetlinkView& view, std::uint32_t hca);
};

/// In the order in which Linux counts them.
std::span<const ResourceKind> resource_kinds();

}  // namespace softib::live
