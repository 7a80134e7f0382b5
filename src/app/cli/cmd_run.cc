// SPDX-License-Identifier: BSD-2-Clause
// softib run: makes a private fabric for the time of one command. The daemon holds one end of a
// pipe, the lifeline; only this process holds the other. However this process ends, the daemon then
// ends the programs on the fabric and removes the fabric.
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/enter_host.h"
#include "app/fabric/launch.h"
#include "app/fabric/manager_program.h"
#include "app/fabric/teardown.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::string private_name() {
    std::uint32_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        random = 0;
    }
    return fmt::format("{}{}-{:08x}", kPrivatePrefix, getpid(), random);
}

sigset_t signals_to_wait_for() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (const int signal : kForwarded) {
        sigaddset(&set, signal);
    }
    return set;
}

/// Waits until the command ends, and returns its exit status. Passes on signals that were sent to
/// this process; signals of the terminal reach the command by themselves.
int wait_for(pid_t child, const sigset_t& waited) {
    while (true) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) {
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        siginfo_t info{};
        const int signal = sigwaitinfo(&waited, &info);
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) {
            kill(child, signal);
        }
    }
}

int run_on_host(const FabricRef& fabric, const std::string& host, const RunOptions& options,
                const sigset_t& waited) {
    auto environment = prepare_host(fabric, host);
    if (!environment) {
        return fail(environment.error());
    }
    environment->enforce_memlock = options.enforce_memlock;
    environment->real_hostname = options.real_hostname;
    const pid_t child = fork();
    if (child < 0) {
        return fail(fmt::format("cannot fork: {}", std::strerror(errno)));
    }
    if (child == 0) {
        sigprocmask(SIG_UNBLOCK, &waited, nullptr);
        if (options.use_namespace) {
            environment->preload = false;
            if (auto entered = enter_namespace(*environment); !entered) {
                _exit(fail(entered.error()));
            }
        }
        _exit(become_program(*environment, options.command));
    }
    return wait_for(child, waited);
}

/// Runs the command on the first host, and reports as JSON how it went if that is wanted.
int run_and_report(const FabricRef& fabric, const topo::Fabric& graph, const RunOptions& options,
                   const sigset_t& waited) {
    const std::string& host = graph.hosts.front().name;
    const auto start = std::chrono::steady_clock::now();
    const int status = run_on_host(fabric, host, options, waited);
    if (options.json) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        report_line({{"fabric", fabric.name},
                     {"host", host},
                     {"hosts", graph.hosts.size()},
                     {"command", options.command},
                     {"status", status},
                     {"seconds", took.count()}});
    }
    return status;
}

/// Makes the fabric's directory and returns the fabric. The base directory is locked only for that
/// time.
std::expected<FabricRef, std::string> prepare(const spec::Description& description) {
    const auto base = base_dir();
    if (!base) {
        return std::unexpected(base.error());
    }
    const FabricRef fabric{description.spec.name, *base + "/" + description.spec.name};
    if (auto prepared = prepare_fabric(fabric, description); !prepared) {
        return std::unexpected(prepared.error());
    }
    return fabric;
}

}  // namespace

int cmd_run(const RunOptions& options) {
    if (options.command.empty()) {
        return misuse("say what to run: softib run [--hosts N] -- COMMAND");
    }
    auto description = describe(options.flags);
    if (!description) {
        return fail_describing(description.error());
    }
    description->spec.name = private_name();
    if (auto checked = check_manager(*description); !checked) {
        return fail_describing(checked.error());
    }
    const auto graph = generate_to_run(*description);
    if (!graph) {
        return fail_describing(graph.error());
    }
    std::array<int, 2> lifeline{};
    if (pipe2(lifeline.data(), O_CLOEXEC) != 0) {
        return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    // From here on a signal must not end this process before the fabric is gone.
    const sigset_t waited = signals_to_wait_for();
    sigprocmask(SIG_BLOCK, &waited, nullptr);
    const auto fabric = prepare(*description);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto daemon = start_daemon(*fabric, lifeline[0]);
    close(lifeline[0]);
    if (!daemon) {
        return fail(daemon.error());
    }
    const auto managed = description->manager == "opensm" ? wait_until_managed(*fabric)
                                                          : std::expected<void, std::string>{};
    const int status =
        managed ? run_and_report(*fabric, *graph, options, waited) : fail(managed.error());
    close(lifeline[1]);
    int daemon_status = 0;
    if (waitpid(*daemon, &daemon_status, 0) != *daemon || daemon_status != 0) {
        end_programs(fabric->dir);
        remove_fabric(*fabric);
    }
    return status;
}

}  // namespace softib::app
