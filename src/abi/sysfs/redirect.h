// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Says which paths are ours, and where they really are. A virtual host's /sys and /dev entries are
// below $SOFTIB_SYSROOT; a path that begins like one of them is redirected there, and a path that
// comes back from there (realpath, getcwd) loses that root again. Without SOFTIB_SYSROOT every
// function leaves every path alone.
//
// Safe in signal handlers and before constructors: no allocation, no lock; errno is kept. (But for
// the one path that only programs with a GPU see.)

#include <cstddef>
#include <string_view>

namespace softib::fs {

/// Our own paths are short; one that does not fit is none of ours.
inline constexpr std::size_t kPathMax = 1024;

struct PathBuffer {
    char text[kPathMax];
};

/// The environment the shim was started with, read once.
struct Settings {
    bool enabled;
    std::string_view root;        ///< Without links and trailing slash. Ends with a zero byte.
    std::string_view fabric_dir;  ///< Likewise; empty: no daemon to ask.
    std::string_view host;
    std::string_view hostname;  ///< Empty: the machine's. Ends with a zero byte.
};
const Settings& settings();

/// The path to use instead of `path`: itself, or a copy in `buffer` that begins with the root.
const char* redirect(const char* path, PathBuffer& buffer);

/// The same for a path relative to a directory descriptor or AT_FDCWD.
const char* redirect_at(int dirfd, const char* path, PathBuffer& buffer);

/// True if a path without links lies in the tree.
bool in_tree(std::string_view path);

/// The path as the program knows it; one outside the tree stays as it is.
std::string_view visible(std::string_view path);

/// True if a redirected path names a node below /dev/infiniband. On disk it is a link to the null
/// device; a program sees a character device and no link.
bool is_device_node(const char* path);

/// Path behind an open descriptor; empty where it cannot be told.
std::string_view path_of_fd(int fd, PathBuffer& buffer);

}  // namespace softib::fs
