// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The devices of this process's host. A device is opened when an endpoint is first bound to it, and
// stays open until the process ends.

#include <infiniband/verbs.h>

#include <cstdint>

#include "core/base/ids.h"

namespace softib::abi::rdmacm {

struct Device {
    ibv_device* device = nullptr;
    Guid guid{};
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;      ///< The protection domain for endpoints whose program gives none.
    ibv_xrcd* xrcd = nullptr;  ///< The XRC domain for endpoints whose program gives none.
    std::uint32_t users = 0;   ///< The number of endpoints on this device.
    std::uint8_t initiator_depth_max = 0;
    std::uint8_t responder_resources_max = 0;
};

/// Returns the device with this node GUID, open and with a protection domain; nullptr, with errno
/// set, if that fails. The caller gives the device back by put_device().
Device* get_device(Guid guid);
void put_device(Device* device);

/// Returns the device's XRC domain; nullptr, with errno set, if it cannot be opened.
ibv_xrcd* xrcd_of(Device& device);

/// Posts a receive of one piece of memory. Returns 0 or an errno value.
inline int post_one_receive(ibv_qp* qp, std::uint64_t wr_id, std::uint8_t* at, std::uint32_t bytes,
                            const ibv_mr& mr) {
    ibv_sge part{};
    part.addr = reinterpret_cast<std::uintptr_t>(at);
    part.length = bytes;
    part.lkey = mr.lkey;
    ibv_recv_wr request{};
    request.wr_id = wr_id;
    request.sg_list = &part;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp, &request, &bad);
}

}  // namespace softib::abi::rdmacm
