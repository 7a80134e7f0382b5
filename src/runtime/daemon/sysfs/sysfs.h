// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The part of a virtual host's /sys and /dev that describes its HCAs, which some programs read
// instead of calling the verbs library. The tree is like that of Linux: entries of a class are
// links into /sys/devices, where the HCAs are in a PCI domain of their own (f1b0), so that their
// paths differ from those of real devices.
//
// The tree exists twice: on disk, for programs that walk directories and links, and as current
// contents, which are asked for file by file. `host` may be a list, as in naming.h.

#include <expected>
#include <string>
#include <string_view>

#include "runtime/shm/arena.h"

namespace softib::daemon {

/// Returns the current contents of a regular file. `path` is its path on the host, as
/// "/sys/class/infiniband/…" or the "/sys/devices/…" that this leads to. The error is ENOENT, or
/// EINVAL for an attribute of a GID that the port does not have.
std::expected<std::string, int> sysfs_read(const shm::Arena& arena, std::string_view host,
                                           std::string_view path);

/// Writes the whole tree below `root` (root/sys/…, root/dev/…) with its current contents. Files
/// that are right already stay; those that belong to no device of the host are removed. Two
/// processes may do this for one root at the same time. The error says which file could not be
/// written.
std::expected<void, std::string> sysfs_materialize(const shm::Arena& arena, std::string_view host,
                                                   const std::string& root);

}  // namespace softib::daemon
