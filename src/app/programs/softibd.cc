// SPDX-License-Identifier: BSD-2-Clause
// softibd, the daemon of a fabric: takes the fabric's directory, builds the fabric that the
// description there asks for, serves it, and removes the directory at the end.
#include <fcntl.h>
#include <fmt/format.h>
#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "app/fabric/fabric_dir.h"
#include "app/fabric/launch.h"
#include "app/fabric/manager_program.h"
#include "app/fabric/teardown.h"
#include "app/fabric/telemetry_program.h"
#include "app/fabric/term.h"
#include "app/programs/carrier_process.h"
#include "runtime/carrier/roce/roce_socket.h"
#include "runtime/daemon/builder.h"
#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "spec/description.h"

namespace softib::app {
namespace {

struct Options {
    std::string dir;
    bool foreground = false;
    int ready_fd = -1;
    int lifeline_fd = -1;
};

constexpr char kUsage[] =
    "usage: softibd --dir DIR [--foreground] [--ready-fd N] [--lifeline-fd N]\n"
    "Serves the fabric described in DIR/fabric.toml. Normally started by softib up.\n";

bool parse_fd(const char* text, int& fd) {
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, fd);
    return error == std::errc{} && rest == end && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

bool parse(int argc, char** argv, Options& options) {
    constexpr option kLong[] = {{"dir", required_argument, nullptr, 'd'},
                                {"foreground", no_argument, nullptr, 'F'},
                                {"ready-fd", required_argument, nullptr, 'r'},
                                {"lifeline-fd", required_argument, nullptr, 'l'},
                                {"version", no_argument, nullptr, 'V'},
                                {"help", no_argument, nullptr, 'h'},
                                {nullptr, 0, nullptr, 0}};
    int c = 0;
    while ((c = getopt_long(argc, argv, "", kLong, nullptr)) != -1) {
        switch (c) {
            case 'd':
                options.dir = optarg;
                break;
            case 'F':
                options.foreground = true;
                break;
            case 'r':
            case 'l':
                if (!parse_fd(optarg, c == 'r' ? options.ready_fd : options.lifeline_fd)) {
                    fmt::print(stderr, "softibd: '{}' is no open descriptor\n", optarg);
                    return false;
                }
                break;
            case 'V':
                fmt::print("softibd {}\n", SOFTIB_VERSION);
                std::exit(0);
            case 'h':
                fmt::print("{}", kUsage);
                std::exit(0);
            default:
                return false;
        }
    }
    return optind == argc && !options.dir.empty();
}

void tell(const Options& options, const std::string& text) {
    const ssize_t ignored = write(options.ready_fd, text.data(), text.size());
    static_cast<void>(ignored);
}

/// Tells the process that started the daemon which step is under way.
void report_stage(const Options& options, const std::string& what) {
    if (options.ready_fd >= 0) {
        tell(options, fmt::format("{}{}\n", kStagePrefix, what));
    }
}

/// Tells the process that started the daemon how the start ended: kReady for success, or the error
/// to show.
void report(Options& options, const std::string& text) {
    if (options.ready_fd < 0) {
        return;
    }
    tell(options, text);
    close(options.ready_fd);
    options.ready_fd = -1;
}

int block_signals() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Logs the signal that ended the daemon, and its sender, if a signal did.
void log_signal(int signal_fd) {
    signalfd_siginfo told{};
    if (read(signal_fd, &told, sizeof told) == static_cast<ssize_t>(sizeof told)) {
        daemon::log_info("signal {} of pid {} ends the daemon", told.ssi_signo, told.ssi_pid);
    }
}

extern "C" void say_last_words(int number) {
    char line[] = "softibd is ended by signal 00\n";
    line[sizeof line - 4] = static_cast<char>('0' + number / 10 % 10);
    line[sizeof line - 3] = static_cast<char>('0' + number % 10);
    const ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
    static_cast<void>(ignored);
    raise(number);  // The handler is reset (SA_RESETHAND), so this ends the process.
}

/// Lets a daemon that crashes say so in its log: the message of a failed check or of an exception,
/// and the signal that ended it.
void log_last_words(const std::string& path) {
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
        dup2(fd, STDERR_FILENO);
        close(fd);
    }
    for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
        struct sigaction now{};
        sigaction(number, nullptr, &now);
        if (now.sa_handler == SIG_DFL) {  // Otherwise a sanitizer has a handler.
            now.sa_handler = say_last_words;
            now.sa_flags = static_cast<int>(SA_RESETHAND);
            sigaction(number, &now, nullptr);
        }
    }
}

/// Raises the limit of open files as far as allowed: each attached process takes two descriptors.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

struct Built {
    topo::Fabric graph;
    shm::Arena arena;
    daemon::ManagementOptions management;
    daemon::AddressMap addresses;
    spec::Description description;
    spec::Trunks trunks{};
};

std::expected<Built, std::string> build(const FabricRef& fabric) {
    spec::Description description;
    if (auto loaded = spec::load_description(fabric.dir + "/" + kDescriptionName, description);
        !loaded) {
        return std::unexpected(loaded.error());
    }
    description.spec.name = fabric.name;
    auto graph = spec::generate(description);
    if (!graph) {
        return std::unexpected(graph.error());
    }
    daemon::BuildOptions options{.data_path = description.data_path};
    if (description.arena_bytes != 0) {
        options.arena_bytes = description.arena_bytes;
    }
    if (description.link_layer == hca::LinkLayer::kEthernet) {
        auto ports = spec::plan_ethernet_ports(*graph, description.ethernet);
        if (!ports) {
            return std::unexpected(ports.error());
        }
        if (auto usable = carrier::check_roce_ports(*ports); !usable) {
            return std::unexpected(usable.error());
        }
        options.ethernet_ports = std::move(*ports);
        options.data_path = description.data_path = DataPath::kPacket;
        description.manager = "none";  // An Ethernet has no subnet manager.
    }
    spec::Trunks trunks;
    if (!description.trunk.empty()) {
        const auto key = spec::read_trunk_key(description.trunk_key);
        if (!key) {
            return std::unexpected(key.error());
        }
        trunks = {*spec::parse_trunks(description.trunk), *key};
    }
    const shm::Arena arena = daemon::build_arena(*graph, options);
    if (arena.base == nullptr) {
        return std::unexpected(
            fmt::format("cannot make an arena of {} bytes: {}; try a smaller one with --arena",
                        options.arena_bytes, std::strerror(errno)));
    }
    auto addresses = daemon::AddressMap::parse(arena, description.addresses);
    if (!addresses) {
        return std::unexpected(addresses.error());
    }
    Built built{std::move(*graph),     arena,       {},
                std::move(*addresses), description, std::move(trunks)};
    built.management.own_manager = description.manager == "softib";
    built.management.own_aggregation = description.aggregation == "softib";
    sm::ManagerConfig& manager = built.management.manager;
    manager.engine = description.engine;
    manager.lmc = description.lmc;
    manager.adaptive_routing = description.adaptive_routing;
    manager.partitions = std::move(description.partition_rules);
    manager.qos = description.qos;
    built.management.lid_file = daemon::LidFile(description.lid_file);
    if (auto loaded = built.management.lid_file.load(manager); !loaded) {
        return std::unexpected(loaded.error());
    }
    return built;
}

/// Starts the processes that this fabric needs beside the daemon. They end before the daemon does.
std::expected<void, std::string> start_helpers(daemon::Daemon& daemon, const FabricRef& fabric,
                                               const Built& built) {
    if (built.description.data_path == DataPath::kPacket) {
        auto started =
            daemon.supervise({.name = "carrier",
                              .start =
                                  [&] {
                                      return start_carrier(fabric, built.graph,
                                                           {.dir = fabric.dir,
                                                            .speed = built.description.link_scale,
                                                            .trunks = built.trunks});
                                  },
                              .ended = [&] { daemon.carrier_ended(); },
                              .answers = [&] { return daemon.carrier_answers(); }});
        if (!started) {
            return started;
        }
    }
    if (built.description.telemetry) {
        auto started = daemon.supervise(
            {.name = kTelemetryHelper, .start = [&] { return start_telemetry(fabric); }});
        if (!started) {
            return started;
        }
    }
    if (built.description.manager == "opensm") {
        return daemon.supervise({.name = kManagerHelper, .start = [&] {
                                     return start_manager(fabric, built.description,
                                                          built.graph.hosts.front().name);
                                 }});
    }
    return {};
}

std::expected<void, std::string> serve(const FabricRef& fabric, Options& options) {
    const int signal_fd = block_signals();
    report_stage(options, "building");
    auto built = build(fabric);
    if (!built) {
        return std::unexpected(built.error());
    }
    const shm::Arena& arena = built->arena;
    report_stage(options, fmt::format("bringing up {}", counted(arena.header->hosts, "host")));
    daemon::Daemon daemon(arena, built->graph,
                          {.dir = fabric.dir,
                           .signal_fd = signal_fd,
                           .lifeline_fd = options.lifeline_fd,
                           .management = built->management,
                           .addresses = built->addresses,
                           .trunks = built->trunks});
    if (auto started = daemon.start(); !started) {
        return started;
    }
    if (auto started = start_helpers(daemon, fabric, *built); !started) {
        return started;
    }
    daemon::log_info("fabric {} is up: {}, {}, {}", fabric.name,
                     counted(arena.header->hosts, "host"), counted(arena.header->hcas, "HCA"),
                     counted(arena.header->switches, "switch"));
    daemon.when_ready([&] { report(options, kReady); });
    daemon.run();
    log_signal(signal_fd);
    daemon::log_info("fabric {} ends", fabric.name);
    if (options.lifeline_fd >= 0) {
        end_programs(fabric.dir);
    }
    daemon.end_helpers();
    remove_fabric(fabric);
    return {};
}

int run(Options& options) {
    std::error_code bad;
    const std::filesystem::path dir = std::filesystem::canonical(options.dir, bad);
    if (bad) {
        const std::string message = fmt::format("no directory {}", options.dir);
        fmt::print(stderr, "softibd: {}\n", message);
        report(options, message);
        return 1;
    }
    const FabricRef fabric{dir.filename().string(), dir.string()};
    const auto lock = lock_fabric(fabric);
    std::expected<void, std::string> served;
    if (!lock) {
        served = std::unexpected(lock.error());
    } else {
        raise_descriptor_limit();
        const std::string log = fabric.dir + "/" + kLogName;
        if (options.foreground || !daemon::log_to_file(log)) {
            daemon::log_to_stderr();
        } else {
            log_last_words(log);
        }
        served = serve(fabric, options);
    }
    if (!served) {
        fmt::print(stderr, "softibd: {}\n", served.error());
        report(options, served.error());
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace softib::app

int main(int argc, char** argv) {
    softib::app::Options options;
    if (!softib::app::parse(argc, argv, options)) {
        fmt::print(stderr, "{}", softib::app::kUsage);
        return 2;
    }
    return softib::app::run(options);
}
