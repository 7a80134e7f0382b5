// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a program needs in its environment to find itself on a host of a fabric.

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "app/fabric/fabric_dir.h"

namespace softib::app {

struct HostEnvironment {
    FabricRef fabric;
    std::string host;
    std::string sysroot;           ///< The host's /sys and /dev.
    std::string programs;          ///< Where softib is: own_bin_dir(), which a namespace may hide.
    std::string libraries;         ///< Where the loader finds ours: see loadable_library_dir().
    bool preload = true;           ///< False inside a namespace, where the paths are real.
    bool rsockets = false;         ///< Its TCP connections go over the fabric.
    bool enforce_memlock = false;  ///< Registered memory counts against RLIMIT_MEMLOCK.
    bool real_hostname = false;    ///< It keeps the machine's name, instead of the host's.
};

/// What a program on the host (of several: the first) takes for the machine's name.
std::string hostname_of(const HostEnvironment& wanted);

/// The variables to set and their values, on top of the caller's own environment. Paths of ours
/// are put first and stand only once, however often softib is nested.
std::vector<std::pair<std::string, std::string>> host_variables(const HostEnvironment& wanted);

/// The limit of locked memory, which says nothing on a host that pins none, is raised as far as the
/// kernel allows; the preloaded library says the rest. Not where it is enforced.
void lift_memlock(const HostEnvironment& wanted);

/// The caller's environment with those variables, as NAME=VALUE.
std::vector<std::string> host_environment(const HostEnvironment& wanted);

/// The caller's environment without our preloads, which are for programs on hosts.
std::vector<std::string> daemon_environment();

/// Pointers into `strings`, ended by a null pointer, for the exec functions.
std::vector<char*> to_argv(const std::vector<std::string>& strings);

/// Returns the path of a program that is in PATH or in `more`, a list like PATH; empty if there is
/// none.
std::string find_in_path(const std::string& program, const std::string& more = "");

/// Directory of the running program, where softibd stands too.
std::string own_bin_dir();

/// Directory of the shim libraries that belong to this program.
std::string library_dir();

/// The same by a path that the loader's variables can hold: where a space, a colon or a semicolon
/// is in it, a link in `link_dir`. The error is for the user.
std::expected<std::string, std::string> loadable_library_dir(const std::string& link_dir);

}  // namespace softib::app
