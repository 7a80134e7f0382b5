// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Files of the virtual host's /sys whose content changes (counters, port states). The copy on disk
// is as old as the tree of files; the daemon has the present content.

namespace softib::sysfs {

/// Replaces a descriptor by one with the present content, under the same number, if it was opened
/// for reading on a regular file of the virtual host's /sys. If that fails, the file on disk stays.
/// If a read of the file would fail with EINVAL in Linux, a read of the new descriptor fails so,
/// too. Keeps errno.
void make_live(int fd);

/// Brings the content of a descriptor that make_live() has replaced up to date. Linux makes the
/// content of such a file when a program reads from its start, however long ago it was opened. For
/// other descriptors, this only tests a bit. Keeps errno.
void refresh(int fd);

/// Does what refresh() does, but only if the descriptor's offset is 0.
void refresh_at_start(int fd);

/// Opens a node /dev/infiniband/issmN: as long as the descriptor is open, the port counts as one
/// with a subnet manager. Returns -1 if `path` names no such node, and -2, with errno set, if the
/// daemon refuses.
int open_manager_node(const char* path);

}  // namespace softib::sysfs
