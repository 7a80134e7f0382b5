// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The HCA ports that NCCL sees as network devices: every port of this program's HCAs that is
// active when NCCL first asks.
//
// Thread rule: the list is made once, and does not change afterwards.

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "abi/nccl/plugin_abi.h"

namespace softib::abi::nccl {

struct Device {
    std::string name;      ///< "mlx5_0".
    std::string pci_path;  ///< Path in sysfs; empty if there is none.
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;  ///< The protection domain of all queue pairs and regions.
    std::uint8_t port = 1;
    std::uint64_t node_guid = 0;
    std::uint16_t lid = 0;
    ibv_gid gid{};
    ibv_mtu mtu = IBV_MTU_1024;
    int speed_mbps = 0;
    bool is_infiniband = true;
    bool reaches_gpus = false;  ///< Whether GPU memory can be registered.
};

/// Returns all active ports. InfiniBand ports come before RoCE ports: only they can have
/// aggregation nodes, and so a number means the same device in the Net and CollNet plug-ins.
const std::vector<Device>& devices();

/// Returns the device with a number; nullptr if there is none.
const Device* device_at(int number);

/// Returns how many devices are InfiniBand ports.
int infiniband_count();

/// Writes a device's properties for NCCL.
void describe(const Device& device, int number, PropertiesV11& properties);

}  // namespace softib::abi::nccl
