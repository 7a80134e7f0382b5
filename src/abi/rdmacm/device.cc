// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rdmacm/device.h"

#include <endian.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <new>

namespace softib::abi::rdmacm {

namespace {

std::mutex g_devices_mutex;
Device* g_devices = nullptr;  // Never freed, because programs have its contexts.
int g_device_count = 0;
ibv_device** g_list = nullptr;  // Never freed, because g_devices has its devices.

/// Fills g_devices, once. The caller holds g_devices_mutex.
bool list_devices() {
    if (g_devices != nullptr) {
        return true;
    }
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    if (list == nullptr) {
        return false;
    }
    auto* const devices = new (std::nothrow) Device[static_cast<std::size_t>(count) + 1];
    if (devices == nullptr) {
        ibv_free_device_list(list);
        errno = ENOMEM;
        return false;
    }
    for (int i = 0; i < count; ++i) {
        devices[i].device = list[i];
        devices[i].guid = Guid{be64toh(ibv_get_device_guid(list[i]))};
    }
    g_list = list;
    g_devices = devices;
    g_device_count = count;
    return true;
}

bool open_device(Device& device) {
    if (device.context != nullptr) {
        return true;
    }
    device.context = ibv_open_device(device.device);
    if (device.context == nullptr) {
        return false;
    }
    ibv_device_attr attr{};
    if (ibv_query_device(device.context, &attr) == 0) {
        device.initiator_depth_max =
            static_cast<std::uint8_t>(std::clamp(attr.max_qp_init_rd_atom, 0, 255));
        device.responder_resources_max =
            static_cast<std::uint8_t>(std::clamp(attr.max_qp_rd_atom, 0, 255));
    }
    return true;
}

}  // namespace

Device* get_device(Guid guid) {
    const std::lock_guard guard(g_devices_mutex);
    if (!list_devices()) {
        return nullptr;
    }
    Device* const end = g_devices + g_device_count;
    Device* const found =
        std::find_if(g_devices, end, [guid](const Device& device) { return device.guid == guid; });
    if (found == end) {
        errno = ENODEV;
        return nullptr;
    }
    if (!open_device(*found)) {
        return nullptr;
    }
    if (found->pd == nullptr) {
        found->pd = ibv_alloc_pd(found->context);
        if (found->pd == nullptr) {
            return nullptr;
        }
    }
    ++found->users;
    return found;
}

void put_device(Device* device) {
    const std::lock_guard guard(g_devices_mutex);
    if (device == nullptr || --device->users != 0) {
        return;
    }
    // The protection domain stays if the program still has memory registered in it.
    if (ibv_dealloc_pd(device->pd) == 0) {
        device->pd = nullptr;
    }
    if (device->xrcd != nullptr && ibv_close_xrcd(device->xrcd) == 0) {
        device->xrcd = nullptr;
    }
}

ibv_xrcd* xrcd_of(Device& device) {
    const std::lock_guard guard(g_devices_mutex);
    if (device.xrcd == nullptr) {
        ibv_xrcd_init_attr attr{};
        attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
        attr.fd = -1;
        attr.oflags = O_CREAT;
        device.xrcd = ibv_open_xrcd(device.context, &attr);
    }
    return device.xrcd;
}

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

extern "C" {

ibv_context** rdma_get_devices(int* num_devices) {
    const std::lock_guard guard(g_devices_mutex);
    if (!list_devices()) {
        return nullptr;
    }
    auto* const list = static_cast<ibv_context**>(
        std::calloc(static_cast<std::size_t>(g_device_count) + 1, sizeof(ibv_context*)));
    if (list == nullptr) {
        return nullptr;
    }
    int count = 0;
    for (int i = 0; i < g_device_count; ++i) {
        if (open_device(g_devices[i])) {
            list[count++] = g_devices[i].context;
        }
    }
    if (num_devices != nullptr) {
        *num_devices = count;
    }
    return list;
}

void rdma_free_devices(ibv_context** list) {
    std::free(list);
}

}  // extern "C"
