// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/device.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "abi/nccl/log.h"

// Older headers lack it; the library beside this one has it.
extern "C" int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed);

namespace softib::abi::nccl {

namespace {

constexpr int kDevicesMax = 64;
constexpr int kCommsMax = 65536;

/// Returns the rate of a port's link in Mbit/s; 0 if it cannot be told. active_speed of
/// ibv_port_attr has no room for generations after NDR.
int speed_of(ibv_context* context, std::uint8_t port) {
    constexpr int kUnitMbps = 100;
    std::uint64_t units = 0;
    return ibv_query_port_speed(context, port, &units) == 0 ? static_cast<int>(units) * kUnitMbps
                                                            : 0;
}

std::string pci_path_of(const ibv_device& device) {
    char* const path = realpath((std::string(device.ibdev_path) + "/device").c_str(), nullptr);
    const std::string found = path == nullptr ? "" : path;
    std::free(path);
    return found;
}

/// Returns whether GPU memory can be registered. It registers an invalid descriptor: where dma-bufs
/// are not supported, this fails with an error that says so, elsewhere with another one.
bool reaches_gpus(ibv_pd* pd) {
    errno = 0;
    ibv_mr* const region = ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0);
    if (region != nullptr) {
        ibv_dereg_mr(region);
    }
    return region != nullptr || (errno != EOPNOTSUPP && errno != EPROTONOSUPPORT);
}

void add_ports(ibv_device& device, std::vector<Device>& found) {
    ibv_context* const context = ibv_open_device(&device);
    ibv_device_attr attributes{};
    if (context == nullptr || ibv_query_device(context, &attributes) != 0) {
        warn("cannot open %s", device.name);
        return;
    }
    ibv_pd* const pd = ibv_alloc_pd(context);
    for (int number = 1; pd != nullptr && number <= attributes.phys_port_cnt; ++number) {
        ibv_port_attr port{};
        const auto port_number = static_cast<std::uint8_t>(number);
        Device one{.name = device.name,
                   .pci_path = pci_path_of(device),
                   .context = context,
                   .pd = pd,
                   .port = port_number,
                   .node_guid = be64toh(attributes.node_guid)};
        if (ibv_query_port(context, port_number, &port) != 0 || port.state != IBV_PORT_ACTIVE ||
            ibv_query_gid(context, port_number, 0, &one.gid) != 0) {
            continue;
        }
        one.lid = port.lid;
        one.mtu = port.active_mtu;
        one.speed_mbps = speed_of(context, port_number);
        one.is_infiniband = port.link_layer != IBV_LINK_LAYER_ETHERNET;
        one.reaches_gpus = reaches_gpus(pd);
        found.push_back(std::move(one));
    }
}

std::vector<Device> find_devices() {
    std::vector<Device> found;
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    for (int i = 0; list != nullptr && i < std::min(count, kDevicesMax); ++i) {
        add_ports(*list[i], found);
    }
    ibv_free_device_list(list);
    std::ranges::stable_partition(found, [](const Device& one) { return one.is_infiniband; });
    for (const Device& one : found) {
        inform("%s port %d, LID %d, %d Mbit/s", one.name.c_str(), one.port, one.lid,
               one.speed_mbps);
    }
    if (found.empty()) {
        inform("no active port of any HCA: is this program run by softib exec?");
    }
    return found;
}

}  // namespace

const std::vector<Device>& devices() {
    static const std::vector<Device> found = find_devices();
    return found;
}

const Device* device_at(int number) {
    const std::vector<Device>& all = devices();
    return number < 0 || static_cast<std::size_t>(number) >= all.size()
               ? nullptr
               : &all[static_cast<std::size_t>(number)];
}

int infiniband_count() {
    return static_cast<int>(
        std::ranges::count_if(devices(), [](const Device& one) { return one.is_infiniband; }));
}

void describe(const Device& device, int number, PropertiesV11& properties) {
    properties = {};
    properties.device.name = const_cast<char*>(device.name.c_str());
    properties.device.pci_path =
        device.pci_path.empty() ? nullptr : const_cast<char*>(device.pci_path.c_str());
    properties.device.guid = device.node_guid;
    properties.device.pointer_support =
        kPointerHost | (device.reaches_gpus ? kPointerCuda | kPointerDmaBuf : 0);
    properties.link.speed_mbps = device.speed_mbps;
    properties.link.port = device.port;
    properties.link.comms_max = kCommsMax;
    properties.link.receives_max = kReceivesMax;
    properties.virtual_device = {.count = 1, .devices = {number}};
    properties.point_to_point_bytes_max = kPointToPointBytesMax;
    properties.collective_bytes_max = kCollectiveBytesMax;
    properties.multi_request_max = 1;
}

}  // namespace softib::abi::nccl
