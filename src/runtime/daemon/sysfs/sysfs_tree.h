// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The tree of sysfs.h as data: the directories, links and files of a device, and the functions that
// make the contents of files. Used by sysfs.cc, and by rdma_netlink.cc, which reports the same
// values in another form.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::daemon::sysfs {

inline constexpr std::string_view kPciRoot = "/sys/devices/pcif1b0:00";

/// An HCA of the host, with its names in the tree.
struct Device {
    const shm::Arena* arena;
    std::uint32_t hca;
    std::size_t number;  ///< Index in the list of devices: the N of uverbsN and umadN.
    std::string name;
    std::string slot;  ///< "f1b0:01:00.0"

    const shm::HcaRecord& record() const { return arena->hcas[hca]; }
    std::string pci_dir() const { return std::string{kPciRoot} + "/" + slot; }
    bool is_ethernet() const { return arena->header->link_layer == hca::LinkLayer::kEthernet; }
    bool looks_like_mlx5() const { return name.starts_with("mlx5_"); }
};

/// The contents of a file that exists but cannot be read (EINVAL), as in Linux.
inline constexpr char kNotReadable[] = "";

/// Returns the contents of a file. `arg` is Entry::arg: the number in the file's name, or the row
/// of a counter.
using Maker = std::string (*)(const Device& device, unsigned arg);

enum class Kind : std::uint8_t { kDirectory, kLink, kFile };

/// A directory, link or file of the tree. Its path is absolute, or relative to the PCI directory of
/// its device.
struct Entry {
    Kind kind;
    std::string path;
    std::string target = {};  ///< Links only.
    Maker make = nullptr;     ///< Files only.
    unsigned arg = 0;
};

/// A file whose contents need no `arg`.
struct FileSpec {
    std::string_view name;
    Maker make;
};

/// Returns the devices of a host or a list of hosts; empty if one of them is unknown.
std::vector<Device> devices_of(const shm::Arena& arena, std::string_view host);

/// Returns everything in the PCI directory of a device, parents before children, with relative
/// paths.
std::vector<Entry> device_entries(const Device& device);

/// Returns the links that lead to a device, with absolute paths.
std::vector<Entry> links_to(const Device& device);

/// Returns the files that belong to no device; their names are absolute paths.
std::span<const FileSpec> global_files(const shm::Arena& arena);

}  // namespace softib::daemon::sysfs
