// SPDX-License-Identifier: BSD-2-Clause
// Our subnet manager as a program of its own, on a port that libibumad opens: a virtual one under
// `softib exec`, or one of an HCA.
#include <fmt/format.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "core/routing/engine.h"
#include "core/sm/service/subnet_service.h"
#include "umad/port.h"

namespace softib::app {
namespace {

constexpr char kUsage[] =
    "usage: softib-sm [options]\n"
    "Runs a subnet manager on a port, in the foreground.\n"
    "  -C, --device NAME    the HCA (default: the first that has a cable)\n"
    "  -P, --port N         its port\n"
    "  -p, --priority N     0 to 15: the highest is master (0)\n"
    "  -k, --sm-key KEY     managers with another key are ignored (1)\n"
    "  -m, --m-key KEY      protects the ports of the subnet (0: does not)\n"
    "  -l, --lmc N          2^N LIDs for each HCA port (0)\n"
    "  -R, --engine NAME    how to route (minhop)\n"
    "  -a, --adaptive-routing\n"
    "                       switches choose among ports that are equally good\n"
    "  -o, --once           ends when the subnet is up\n"
    "SIGHUP: sweeps again. SIGUSR1: hands over to another manager.\n";

struct Options {
    std::string device;
    int port = 0;
    bool once = false;
    sm::ManagerConfig manager;
};

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// Decimal, or hexadecimal after 0x.
template <typename T>
bool parse_number(const char* text, T& number, std::uint64_t most) {
    std::uint64_t value = 0;
    const bool hex = std::strncmp(text, "0x", 2) == 0;
    const char* const begin = hex ? text + 2 : text;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(begin, end, value, hex ? 16 : 10);
    if (error != std::errc{} || rest != end || value > most) {
        fmt::print(stderr, "softib-sm: '{}' is no number from 0 to {}\n", text, most);
        return false;
    }
    number = static_cast<T>(value);
    return true;
}

bool parse(int argc, char** argv, Options& options) {
    constexpr option kLong[] = {{"device", required_argument, nullptr, 'C'},
                                {"port", required_argument, nullptr, 'P'},
                                {"priority", required_argument, nullptr, 'p'},
                                {"sm-key", required_argument, nullptr, 'k'},
                                {"m-key", required_argument, nullptr, 'm'},
                                {"lmc", required_argument, nullptr, 'l'},
                                {"engine", required_argument, nullptr, 'R'},
                                {"adaptive-routing", no_argument, nullptr, 'a'},
                                {"once", no_argument, nullptr, 'o'},
                                {"version", no_argument, nullptr, 'V'},
                                {"help", no_argument, nullptr, 'h'},
                                {nullptr, 0, nullptr, 0}};
    sm::ManagerConfig& manager = options.manager;
    int c = 0;
    bool good = true;
    while (good && (c = getopt_long(argc, argv, "C:P:p:k:m:l:R:aoVh", kLong, nullptr)) != -1) {
        switch (c) {
            case 'C':
                options.device = optarg;
                break;
            case 'P':
                good = parse_number(optarg, options.port, 254);
                break;
            case 'p':
                good = parse_number(optarg, manager.priority, 15);
                break;
            case 'k':
                good = parse_number(optarg, manager.sm_key, UINT64_MAX);
                break;
            case 'm':
                good = parse_number(optarg, manager.mkey, UINT64_MAX);
                break;
            case 'l':
                good = parse_number(optarg, manager.lmc, 7);
                break;
            case 'R':
                manager.engine = optarg;
                if (routing::find_engine(manager.engine) == nullptr) {
                    fmt::print(stderr, "softib-sm: no routing engine '{}'\n", optarg);
                    return false;
                }
                break;
            case 'a':
                manager.adaptive_routing = true;
                break;
            case 'o':
                options.once = true;
                break;
            case 'V':
                fmt::print("softib-sm {}\n", SOFTIB_VERSION);
                std::exit(0);
            case 'h':
                fmt::print("{}", kUsage);
                std::exit(0);
            default:
                good = false;
        }
    }
    if (good && optind != argc) {
        fmt::print(stderr, "softib-sm: unknown argument '{}'; see: softib-sm --help\n",
                   argv[optind]);
        good = false;
    }
    return good;
}

/// The classes that a manager takes requests of.
std::vector<umad::Agent> agents() {
    using enum wire::Method;
    return {{0x01, 1, {kGet, kSet, kTrap}},
            {0x81, 1, {kGet, kSet}},
            {0x03,
             wire::kSaClassVersion,
             {kGet, kSet, kReport, kGetTable, kGetTraceTable, kGetMulti, kDelete}},
            {static_cast<std::uint8_t>(sm::kReplicaClass), 1, {kSet}, sm::kReplicaOui}};
}

std::expected<void, std::string> open_port(const Options& options, umad::Port& port) {
    if (auto opened = port.open(options.device, options.port); !opened) {
        return opened;
    }
    if (!port.add_agents(agents())) {
        return std::unexpected(fmt::format("{} has a subnet manager already", port.name()));
    }
    return port.claim_manager();
}

std::string upper_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

int signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
        sigaddset(&set, number);
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

class Program {
  public:
    Program(const Options& options, umad::Port& port) : port_(port), once_(options.once) {
        sm::ManagerConfig config = options.manager;
        config.port_guid = port.guid();
        config.port = port.number();
        service_ = std::make_unique<sm::SubnetService>(std::move(config));
    }

    void run() {
        const int signal_fd = signals();
        service_->start(now_ns());
        while (!over_) {
            step();
            if (over_) {
                break;
            }
            pollfd sources[] = {{.fd = port_.fd(), .events = POLLIN, .revents = 0},
                                {.fd = signal_fd, .events = POLLIN, .revents = 0}};
            poll(sources, 2, wait_ms());
            if ((sources[0].revents & (POLLERR | POLLHUP)) != 0) {
                fmt::print(stderr, "softib-sm: the port is gone\n");
                over_ = true;
            }
            take_signal(signal_fd);
        }
        close(signal_fd);
    }

  private:
    void step() {
        for (bool busy = true; busy;) {
            busy = false;
            for (bool any = true; any;) {
                const auto packet = port_.receive(any);
                busy = busy || any;
                if (packet) {
                    service_->handle(*packet, now_ns());
                }
            }
            if (service_->next_timeout_ns() <= now_ns()) {
                service_->handle_timeout(now_ns());
            }
            while (const auto packet = service_->poll_transmit(now_ns())) {
                busy = true;
                port_.send(*packet);
            }
            while (const auto event = service_->poll_event()) {
                tell(*event);
            }
        }
    }
    int wait_ms() const {
        const std::uint64_t next = service_->next_timeout_ns();
        const std::uint64_t now = now_ns();
        if (next == UINT64_MAX) {
            return -1;
        }
        return next <= now ? 0 : static_cast<int>((next - now) / 1'000'000 + 1);
    }
    void tell(const sm::ManagerEvent& event) {
        switch (event.kind) {
            case sm::ManagerEvent::kStateChanged:
                fmt::print("{}\n", upper_case(wire::name_of(service_->manager().state())));
                break;
            case sm::ManagerEvent::kSubnetUp:
                fmt::print("SUBNET UP: {} nodes, {} packets sent\n",
                           service_->manager().subnet().size(),
                           service_->manager().stats().smps_sent);
                over_ = over_ || once_;
                break;
            case sm::ManagerEvent::kRoutingFailed:
            case sm::ManagerEvent::kWarning:
                fmt::print(stderr, "softib-sm: {}\n", event.text);
                break;
            default:
                break;
        }
        std::fflush(stdout);
    }
    void take_signal(int signal_fd) {
        signalfd_siginfo got{};
        while (read(signal_fd, &got, sizeof got) == sizeof got) {
            if (got.ssi_signo == SIGHUP) {
                service_->manager().resweep(now_ns());
            } else if (got.ssi_signo == SIGUSR1) {
                if (!service_->manager().hand_over()) {
                    fmt::print(stderr, "softib-sm: no other manager would keep the subnet\n");
                }
            } else {
                over_ = true;
            }
        }
    }

    umad::Port& port_;
    std::unique_ptr<sm::SubnetService> service_;
    bool once_;
    bool over_ = false;
};

}  // namespace
}  // namespace softib::app

int main(int argc, char** argv) {
    softib::app::Options options;
    if (!softib::app::parse(argc, argv, options)) {
        fmt::print(stderr, "{}", softib::app::kUsage);
        return 2;
    }
    softib::umad::Port port;
    if (const auto opened = softib::app::open_port(options, port); !opened) {
        fmt::print(stderr, "softib-sm: {}\n", opened.error());
        return 1;
    }
    fmt::print("softib-sm on {}, {}\n", port.name(), softib::to_string(port.guid()));
    softib::app::Program(options, port).run();
    return 0;
}
