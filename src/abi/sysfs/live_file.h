// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Files of the tree whose content changes (counters, port states): the copy on disk is as old as
// the tree, the daemon knows what is true now.

namespace softib::fs {

/// If the descriptor was opened on a regular file of the tree for reading, puts one with the
/// content as of now in its place, under the same number. Where that fails the file on disk
/// stays. A file that Linux would not let the program read (EINVAL) gets a descriptor that
/// answers so. Keeps errno.
void make_live(int fd);

/// Linux makes the content of such a file when a program reads from its start, however long ago it
/// was opened. If make_live() put the descriptor there, its content becomes that of now. Costs
/// others a test of a bit. Keeps errno.
void refresh(int fd);

/// The same, but only where the descriptor's offset is 0.
void refresh_at_start(int fd);

/// For /dev/infiniband/issmN: a descriptor that says, for as long as it is open, that a subnet
/// manager runs behind the port. -1: `path` names no such node; -2 and errno: the daemon said no.
int open_manager_node(const char* path);

}  // namespace softib::fs
