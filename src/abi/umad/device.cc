// SPDX-License-Identifier: BSD-2-Clause
// The HCAs of the host, and the attributes of their ports.
#include <endian.h>
#include <infiniband/umad.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "abi/umad/fabric.h"
#include "core/topo/link_speed.h"
#include "runtime/shm/identity.h"

namespace softib::abi::umad {

/// A device for SMPs and a device for GMPs (struct umad_ca_pair, since IBUMAD_1.4). Each of our
/// devices is for both.
struct CaPair {
    char smi_name[UMAD_CA_NAME_LEN];
    std::uint32_t smi_preferred_port;
    char gsi_name[UMAD_CA_NAME_LEN];
    std::uint32_t gsi_preferred_port;
};

namespace {

constexpr unsigned kNodeTypeCa = 1;

template <std::size_t N>
void copy_text(char (&out)[N], const char* text) {
    const std::size_t bytes = std::min(std::strlen(text), N - 1);
    std::memcpy(out, text, bytes);
    out[bytes] = '\0';
}

std::span<const shm::DeviceEntry> devices() {
    const Fabric* fabric = Fabric::get();
    return fabric == nullptr ? std::span<const shm::DeviceEntry>{} : fabric->devices();
}

int fill_port(const Fabric& fabric, const shm::DeviceEntry& device, umad_port_t& port) {
    const shm::HcaRecord& hca = fabric.hca(device);
    const PortState state = hca.state.load(std::memory_order_relaxed);
    std::memset(&port, 0, sizeof port);
    copy_text(port.ca_name, device.name);
    port.portnum = kPort;
    port.base_lid = hca.lid.load(std::memory_order_relaxed);
    port.lmc = hca.lmc;
    port.sm_lid = hca.sm_lid;
    port.sm_sl = hca.sm_sl;
    port.state = static_cast<unsigned>(state);
    const bool up = state >= PortState::kInit;
    port.phys_state = up ? 5 : 2;  // LinkUp or Polling.
    port.rate = topo::link_speed(up ? static_cast<topo::Generation>(hca.generation)
                                    : topo::Generation::kSdr)
                    .gbps;
    port.capmask = htobe32(hca.capability_mask);
    port.gid_prefix = htobe64(hca.gid_prefix);
    port.port_guid = htobe64(hca.port_guid);
    copy_text(port.link_layer, hca.ip_gid != Gid{} ? "Ethernet" : "InfiniBand");
    port.pkeys = static_cast<std::uint16_t*>(std::calloc(shm::kPKeysPerPort, sizeof *port.pkeys));
    if (port.pkeys == nullptr) {
        return -ENOMEM;
    }
    port.pkeys_size = shm::kPKeysPerPort;
    for (std::size_t i = 0; i < shm::kPKeysPerPort; ++i) {
        port.pkeys[i] = hca.pkeys[i].load(std::memory_order_relaxed);
    }
    return 0;
}

void fill_pair(const shm::DeviceEntry& device, CaPair& pair) {
    copy_text(pair.smi_name, device.name);
    copy_text(pair.gsi_name, device.name);
    pair.smi_preferred_port = kPort;
    pair.gsi_preferred_port = kPort;
}

}  // namespace

}  // namespace softib::abi::umad

using namespace softib;
using namespace softib::abi::umad;

extern "C" {

int umad_init(void) {
    return 0;
}

int umad_done(void) {
    return 0;
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max) {
    int count = 0;
    for (const shm::DeviceEntry& device : devices()) {
        if (count >= max) {
            break;
        }
        copy_text(cas[count++], device.name);
    }
    return count;
}

int umad_get_ca_portguids(const char* ca_name, __be64* portguids, int max) {
    const Fabric* fabric = Fabric::get();
    const shm::DeviceEntry* device = fabric == nullptr ? nullptr : fabric->find(ca_name);
    if (device == nullptr) {
        return -ENODEV;
    }
    if (portguids != nullptr) {
        if (max <= kPort) {
            return -ENOMEM;
        }
        portguids[0] = 0;  // Only a switch has a port 0.
        portguids[kPort] = htobe64(fabric->hca(*device).port_guid);
    }
    return kPort + 1;
}

int umad_get_ca(const char* ca_name, umad_ca_t* ca) {
    const Fabric* fabric = Fabric::get();
    const shm::DeviceEntry* device = fabric == nullptr ? nullptr : fabric->find(ca_name);
    if (device == nullptr) {
        return -ENODEV;
    }
    const shm::HcaRecord& hca = fabric->hca(*device);
    std::memset(ca, 0, sizeof *ca);
    copy_text(ca->ca_name, device->name);
    ca->node_type = kNodeTypeCa;
    ca->numports = kPort;
    copy_text(ca->fw_ver, shm::kFirmwareVersion);
    copy_text(ca->ca_type, shm::kHcaType);
    std::snprintf(ca->hw_ver, sizeof ca->hw_ver, "%x", shm::kHardwareRevision);
    ca->node_guid = htobe64(hca.node_guid);
    ca->system_guid = htobe64(hca.system_image_guid);
    auto* port = static_cast<umad_port_t*>(std::calloc(1, sizeof(umad_port_t)));
    if (port == nullptr) {
        return -ENOMEM;
    }
    const int error = fill_port(*fabric, *device, *port);
    if (error != 0) {
        std::free(port);
        return error;
    }
    ca->ports[kPort] = port;
    return 0;
}

int umad_release_ca(umad_ca_t* ca) {
    if (ca == nullptr) {
        return -ENODEV;
    }
    for (umad_port_t*& port : ca->ports) {
        if (port != nullptr) {
            umad_release_port(port);
            std::free(port);
            port = nullptr;
        }
    }
    return 0;
}

int umad_get_port(const char* ca_name, int portnum, umad_port_t* port) {
    const Fabric* fabric = Fabric::get();
    const shm::DeviceEntry* device = fabric == nullptr ? nullptr : fabric->find(ca_name);
    if (device == nullptr) {
        return -ENODEV;
    }
    if (portnum != UMAD_ANY_PORT && portnum != kPort) {
        return -EIO;
    }
    return fill_port(*fabric, *device, *port);
}

int umad_release_port(umad_port_t* port) {
    if (port == nullptr) {
        return -ENODEV;
    }
    std::free(port->pkeys);
    port->pkeys = nullptr;
    port->pkeys_size = 0;
    return 0;
}

int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max) {
    const Fabric* fabric = Fabric::get();
    const shm::DeviceEntry* device = fabric == nullptr ? nullptr : fabric->find(ca_name);
    if (device == nullptr) {
        return -ENODEV;
    }
    if ((portnum != UMAD_ANY_PORT && portnum != kPort) || max <= 0) {
        return -EINVAL;
    }
    const auto number = device - fabric->devices().data();
    std::snprintf(path, static_cast<std::size_t>(max), "/dev/infiniband/issm%td", number);
    return 0;
}

umad_device_node* umad_get_ca_device_list(void) {
    umad_device_node* head = nullptr;
    umad_device_node** tail = &head;
    for (const shm::DeviceEntry& device : devices()) {
        const std::size_t bytes = std::strlen(device.name) + 1;
        auto* node = static_cast<umad_device_node*>(std::calloc(1, sizeof **tail + bytes));
        if (node == nullptr) {
            umad_free_ca_device_list(head);
            errno = ENOMEM;
            return nullptr;
        }
        node->ca_name = static_cast<char*>(std::memcpy(node + 1, device.name, bytes));
        *tail = node;
        tail = &node->next;
    }
    errno = 0;  // So that a caller can tell an empty list from a failure.
    return head;
}

void umad_free_ca_device_list(umad_device_node* head) {
    while (head != nullptr) {
        umad_device_node* const next = head->next;
        std::free(head);
        head = next;
    }
}

int umad_sort_ca_device_list(umad_device_node** head, size_t size) {
    std::size_t count = 0;
    for (const umad_device_node* node = *head; node != nullptr; node = node->next) {
        ++count;
    }
    if (size != 0 && size != count) {
        return EINVAL;
    }
    // Sorts by insertion: a host has few devices.
    umad_device_node* sorted = nullptr;
    while (*head != nullptr) {
        umad_device_node* const node = *head;
        *head = node->next;
        umad_device_node** place = &sorted;
        while (*place != nullptr && std::strcmp((*place)->ca_name, node->ca_name) <= 0) {
            place = &(*place)->next;
        }
        node->next = *place;
        *place = node;
    }
    *head = sorted;
    return 0;
}

// Functions newer than the header that we may be built with; the asm label is the exported name.
int softib_umad_get_smi_gsi_pairs(CaPair* cas, size_t max) __asm__("umad_get_smi_gsi_pairs");
int softib_umad_get_smi_gsi_pair_by_ca_name(
    const char* name, std::uint8_t portnum, CaPair* pair,
    unsigned enforce_smi) __asm__("umad_get_smi_gsi_pair_by_ca_name");

int softib_umad_get_smi_gsi_pairs(CaPair* cas, size_t max) {
    const auto all = devices();
    const std::size_t count = std::min(max, all.size());
    for (std::size_t i = 0; i < count; ++i) {
        fill_pair(all[i], cas[i]);
    }
    return static_cast<int>(count);
}

int softib_umad_get_smi_gsi_pair_by_ca_name(const char* name, std::uint8_t portnum, CaPair* pair,
                                            unsigned) {
    const Fabric* fabric = Fabric::get();
    const shm::DeviceEntry* device = fabric == nullptr ? nullptr : fabric->find(name);
    if (device == nullptr || (portnum != UMAD_ANY_PORT && portnum != kPort)) {
        return -1;
    }
    fill_pair(*device, *pair);
    return 0;
}

}  // extern "C"
