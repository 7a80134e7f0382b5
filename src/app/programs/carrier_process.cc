// SPDX-License-Identifier: BSD-2-Clause
#include "app/programs/carrier_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/carrier/carrier.h"
#include "runtime/daemon/log.h"

namespace softib::app {

namespace {

constexpr char kProcessName[] = "softib-carrier";

[[noreturn]] void become_carrier(const FabricRef& fabric, const topo::Fabric& graph,
                                 const carrier::CarrierOptions& options, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    prctl(PR_SET_NAME, kProcessName);
    setpgid(0, 0);  // Ctrl-C is for the daemon, which then ends this process.
    close_range(STDERR_FILENO + 1, ~0U, 0);  // These are the daemon's files.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const auto carried = carrier::carry(graph, options);
    if (daemon::log_to_file(fabric.dir + "/" + kLogName)) {
        daemon::log_error("{}", carried.error());
    }
    _exit(1);
}

}  // namespace

std::expected<pid_t, std::string> start_carrier(const FabricRef& fabric, const topo::Fabric& graph,
                                                const carrier::CarrierOptions& options) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        return std::unexpected(
            fmt::format("cannot start the carrier of packets: {}", std::strerror(errno)));
    }
    if (child == 0) {
        become_carrier(fabric, graph, options, parent);
    }
    return child;
}

}  // namespace softib::app
