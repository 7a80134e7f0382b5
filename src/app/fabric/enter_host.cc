// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/enter_host.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "runtime/daemon/sysfs/sysfs.h"

namespace softib::app {

std::expected<HostEnvironment, std::string> prepare_host(const FabricRef& fabric,
                                                         const std::string& host) {
    const auto observer = Observer::open(fabric);
    if (!observer) {
        return std::unexpected(observer.error());
    }
    if (auto checked = check_hosts(*observer, host); !checked) {
        return std::unexpected(checked.error());
    }
    const std::string hosts_dir = fabric.dir + "/" + kHostsDirName;
    HostEnvironment environment{.fabric = fabric,
                                .host = host,
                                .sysroot = hosts_dir + "/" + host,
                                .programs = own_bin_dir(),
                                .libraries = {}};
    for (const std::string& dir : {hosts_dir, environment.sysroot}) {
        if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
            return std::unexpected(fmt::format("cannot make {}: {}", dir, std::strerror(errno)));
        }
    }
    auto libraries = loadable_library_dir(hosts_dir);
    if (!libraries) {
        return std::unexpected(libraries.error());
    }
    environment.libraries = std::move(*libraries);
    if (auto written = daemon::sysfs_materialize(observer->arena(), host, environment.sysroot);
        !written) {
        return std::unexpected(written.error());
    }
    return environment;
}

int become_program(const HostEnvironment& host, const std::vector<std::string>& command) {
    const std::vector<std::string> environment = host_environment(host);
    std::vector<char*> variables = to_argv(environment);
    environ = variables.data();
    lift_memlock(host);
    execvp(command[0].c_str(), to_argv(command).data());
    const int error = errno;
    note(fmt::format("cannot run {}: {}", command[0], std::strerror(error)));
    return error == ENOENT ? 127 : 126;
}

}  // namespace softib::app
