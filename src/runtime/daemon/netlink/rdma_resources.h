// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The objects that programs have on a device, as attributes of NETLINK_RDMA messages. Only
// rdma_netlink.cc includes this.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/daemon/netlink/rdma_netlink.h"
#include "runtime/shm/netlink_message.h"

namespace softib::daemon {

/// An object of a program.
struct Resource {
    std::uint32_t id = 0;
    std::uint32_t port = 0;  ///< 0: it belongs to no port.
    shm::AttributeList attributes{};
};

/// A kind of objects.
struct ResourceKind {
    const char* name;       ///< Its name in a summary.
    std::uint16_t command;  ///< RDMA_NLDEV_CMD_RES_*_GET
    std::uint16_t table;    ///< Attribute that holds all objects.
    std::uint16_t entry;    ///< Attribute of one object in `table`.
    std::uint16_t id;       ///< Attribute with the number of an object.
    /// Returns the objects on an HCA.
    std::vector<Resource> (*list)(const NetlinkView& view, std::uint32_t hca);
};

/// Returns all kinds, in the order of Linux's summaries.
std::span<const ResourceKind> resource_kinds();

}  // namespace softib::daemon
