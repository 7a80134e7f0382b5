// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a virtual host's /sys and /dev say about its HCAs: the tree that programs read instead of
// asking the verbs library. It has the shape of Linux's own: entries of a class are links into
// /sys/devices, where the HCAs stand in a PCI domain of their own (f1b0), so that their paths
// collide with nothing real.
//
// The tree exists twice: on disk, for everything that walks directories and links, and as live
// content, asked for file by file. `host` may be a list, as in naming.h.

#include <expected>
#include <string>
#include <string_view>

#include "runtime/shm/arena.h"

namespace softib::live {

/// Content of one regular file as of now, by its path on the host ("/sys/class/infiniband/…" or
/// the "/sys/devices/…" it leads to), or ENOENT; EINVAL for an attribute of a GID that has none.
std::expected<std::string, int> sysfs_read(const Arena& arena, std::string_view host,
                                           std::string_view path);

/// Writes the whole tree below `root` (root/sys/…, root/dev/…) with the content as of now. What
/// is there and right already stays; what belongs to no device of the host goes. Two may run at
/// once on one root. The error says which file could not be written.
std::expected<void, std::string> sysfs_materialize(const Arena& arena, std::string_view host,
                                                   const std::string& root);

}  // namespace softib::live
