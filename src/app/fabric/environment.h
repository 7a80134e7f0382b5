// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The environment variables by which a program finds itself on a host of a fabric.

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "app/fabric/fabric_dir.h"

namespace softib::app {

struct HostEnvironment {
    FabricRef fabric;
    std::string host;
    std::string sysroot;    ///< The directory that has the host's /sys and /dev.
    std::string programs;   ///< own_bin_dir(), taken before a namespace may hide it.
    std::string libraries;  ///< See loadable_library_dir().
    /// Whether our library that redirects paths is preloaded; false inside a namespace, where
    /// /sys and /dev are real.
    bool preload = true;
    bool rsockets = false;         ///< Whether the program's TCP connections go over the fabric.
    bool enforce_memlock = false;  ///< Whether registered memory counts against RLIMIT_MEMLOCK.
    bool real_hostname = false;    ///< Whether the program sees the machine's name, not the host's.
};

/// Returns the name that a program takes for its machine's: the host, or the first of several.
std::string hostname_of(const HostEnvironment& wanted);

/// Returns the variables to set on top of the caller's environment, with their values; an empty
/// value means that the variable is removed. Our paths come first in lists, and only once, however
/// often softib is nested.
std::vector<std::pair<std::string, std::string>> host_variables(const HostEnvironment& wanted);

/// Raises the limit of locked memory as far as the kernel allows, unless it is enforced. Our HCAs
/// pin no memory, so a limit would only stop programs that check it. Where the kernel allows less,
/// the preloaded library tells programs that there is no limit (abi/sysfs/memlock.cc).
void lift_memlock(const HostEnvironment& wanted);

/// Returns the caller's environment with host_variables(), as NAME=VALUE.
std::vector<std::string> host_environment(const HostEnvironment& wanted);

/// Returns the caller's environment without our preloads, which are for programs on hosts.
std::vector<std::string> daemon_environment();

/// Returns pointers into `strings`, ended by a null pointer, for the exec functions.
std::vector<char*> to_argv(const std::vector<std::string>& strings);

/// Returns the path of a program that is in PATH or in `more`, a list like PATH; empty if there is
/// none.
std::string find_in_path(const std::string& program, const std::string& more = "");

/// Returns the directory of the running program, which also has softibd.
std::string own_bin_dir();

/// Returns the directory of our libraries (libibverbs and others) that belong to this program.
std::string library_dir();

/// Returns library_dir() as a path that LD_LIBRARY_PATH and LD_PRELOAD can hold: if it has a space,
/// a colon or a semicolon, a link to it in `link_dir`. The error is for the user.
std::expected<std::string, std::string> loadable_library_dir(const std::string& link_dir);

}  // namespace softib::app
