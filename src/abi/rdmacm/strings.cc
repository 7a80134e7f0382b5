// SPDX-License-Identifier: BSD-2-Clause
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <iterator>

extern "C" const char* rdma_event_str(rdma_cm_event_type event) {
    // Indexed by the enumerators of rdma_cm_event_type.
    static constexpr const char* kNames[] = {
        "RDMA_CM_EVENT_ADDR_RESOLVED",   "RDMA_CM_EVENT_ADDR_ERROR",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",  "RDMA_CM_EVENT_ROUTE_ERROR",
        "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
        "RDMA_CM_EVENT_CONNECT_ERROR",   "RDMA_CM_EVENT_UNREACHABLE",
        "RDMA_CM_EVENT_REJECTED",        "RDMA_CM_EVENT_ESTABLISHED",
        "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
        "RDMA_CM_EVENT_MULTICAST_JOIN",  "RDMA_CM_EVENT_MULTICAST_ERROR",
        "RDMA_CM_EVENT_ADDR_CHANGE",     "RDMA_CM_EVENT_TIMEWAIT_EXIT",
    };
    static_assert(std::size(kNames) == RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);
    const auto index = static_cast<std::size_t>(event);
    return index < std::size(kNames) ? kNames[index] : "UNKNOWN EVENT";
}
