// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Decides which paths are those of the virtual host, and where they really are. The host's /sys and
// /dev entries are a tree of files below $SOFTIB_SYSROOT. A path that names one of them is
// redirected there, and a path that the C library returns from there (realpath, getcwd) loses that
// root again. Without SOFTIB_SYSROOT, every function leaves every path alone.
//
// Safe in signal handlers and before constructors: allocates nothing, takes no lock, keeps errno.
// The exception is a path that only programs with a GPU see (has_gpu_driver in redirect.cc).

#include <cstddef>
#include <string_view>

namespace softib::sysfs {

/// The longest path that is redirected. Paths of the tree are short.
inline constexpr std::size_t kPathMax = 1024;

struct PathBuffer {
    char text[kPathMax];
};

/// The settings in the environment, read once.
struct Settings {
    bool enabled;
    // Each text is followed by a zero byte.
    std::string_view root;        ///< The root of the tree, without links and trailing slash.
    std::string_view fabric_dir;  ///< The fabric's directory; empty if there is no daemon to ask.
    std::string_view host;
    std::string_view hostname;  ///< The host's name; empty if it is that of the machine.
};
const Settings& settings();

/// Returns the path to use instead of `path`: `path` itself, or a path in `buffer` that begins with
/// the root.
const char* redirect(const char* path, PathBuffer& buffer);

/// Does what redirect() does, for a path relative to a directory descriptor or AT_FDCWD.
const char* redirect_at(int dirfd, const char* path, PathBuffer& buffer);

/// Returns whether a path without links lies in the tree.
bool in_tree(std::string_view path);

/// Returns a path as the program must see it: without the root if it lies in the tree, otherwise
/// unchanged.
std::string_view visible(std::string_view path);

/// Returns whether a redirected path names a node below /dev/infiniband. On disk the node is a link
/// to the null device; the program must see a character device and no link.
bool is_device_node(const char* path);

/// Returns the path of an open descriptor; empty if the kernel does not say.
std::string_view path_of_fd(int fd, PathBuffer& buffer);

}  // namespace softib::sysfs
