// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The devices of this process's host, opened when an endpoint is first bound to one and open until
// the process ends.

#include <infiniband/verbs.h>

#include <cstdint>

#include "core/base/ids.h"

namespace softib::abi::rdmacm {

struct Device {
    ibv_device* device = nullptr;
    Guid guid{};
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;      ///< For those who bring none.
    ibv_xrcd* xrcd = nullptr;  ///< The same.
    std::uint32_t users = 0;
    std::uint8_t initiator_depth_max = 0;
    std::uint8_t responder_resources_max = 0;
};

/// The device with this node GUID, open, with a protection domain; nullptr and errno. Its user
/// gives it back by put_device.
Device* get_device(Guid guid);
void put_device(Device* device);

/// The device's XRC domain; nullptr and errno.
ibv_xrcd* xrcd_of(Device& device);

}  // namespace softib::abi::rdmacm
