// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The tree of sysfs.h as data: which directories, links and files a device has, and how a file's
// content is made. For sysfs.cc, which reads and writes it, and for rdma_netlink.cc, which says the
// same in another way.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::live::sysfs {

inline constexpr std::string_view kPciRoot = "/sys/devices/pcif1b0:00";

/// One HCA of the host, with the names the tree needs.
struct Device {
    const Arena* arena;
    std::uint32_t hca;
    std::size_t number;  ///< In the host's list: uverbsN, umadN, the PCI bus.
    std::string name;
    std::string slot;  ///< "f1b0:01:00.0"

    const HcaRecord& record() const { return arena->hcas[hca]; }
    std::string pci_dir() const { return std::string{kPciRoot} + "/" + slot; }
    bool is_ethernet() const { return arena->header->link_layer == LinkLayer::kEthernet; }
    bool looks_like_mlx5() const { return name.starts_with("mlx5_"); }
};

/// Content of a file that Linux shows but does not let anybody read (EINVAL).
inline constexpr char kNotReadable[] = "";

/// Makes a file's content. `arg` is the number in the file's name where it has one.
using Maker = std::string (*)(const Device& device, unsigned arg);

enum class Kind : std::uint8_t { kDirectory, kLink, kFile };

/// A node of the tree; where a device is known, `path` is relative to its PCI directory.
struct Entry {
    Kind kind;
    std::string path;
    std::string target = {};  ///< Links only.
    Maker make = nullptr;     ///< Files only.
    unsigned arg = 0;
};

struct FileSpec {
    std::string_view name;
    Maker make;
};

/// The devices of a host or a list of hosts; empty where one is unknown.
std::vector<Device> devices_of(const Arena& arena, std::string_view host);

/// Everything below one PCI directory, parents before children.
std::vector<Entry> device_entries(const Device& device);

/// The links by which a device is found, with absolute paths.
std::vector<Entry> links_to(const Device& device);

/// Files that belong to no device; their names are absolute paths.
std::span<const FileSpec> global_files(const Arena& arena);

}  // namespace softib::live::sysfs
