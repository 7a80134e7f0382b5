// SPDX-License-Identifier: BSD-2-Clause
// Our aggregation manager as a program of its own, on a port that libibumad opens: a virtual one
// under `softib exec`, or one of an HCA.
#include <fmt/format.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "core/sharp/manager/job_desk.h"
#include "core/sharp/manager/manager_service.h"
#include "umad/port.h"

namespace softib::app {
namespace {

constexpr char kUsage[] =
    "usage: softib-am [options]\n"
    "Runs an aggregation manager on a port, in the foreground.\n"
    "  -C, --device NAME    the HCA (default: the first that has a cable)\n"
    "  -P, --port N         its port\n"
    "  -k, --am-key KEY     that aggregation nodes ask for from then on (0: they ask for none)\n"
    "  -o, --once           ends when it knows the nodes\n"
    "SIGINT, SIGTERM: ends all jobs, and then itself.\n";

struct Options {
    std::string device;
    int port = 0;
    bool once = false;
    sharp::ManagerConfig manager;
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
        fmt::print(stderr, "softib-am: '{}' is no number from 0 to {}\n", text, most);
        return false;
    }
    number = static_cast<T>(value);
    return true;
}

bool parse(int argc, char** argv, Options& options) {
    constexpr option kLong[] = {{"device", required_argument, nullptr, 'C'},
                                {"port", required_argument, nullptr, 'P'},
                                {"am-key", required_argument, nullptr, 'k'},
                                {"once", no_argument, nullptr, 'o'},
                                {"version", no_argument, nullptr, 'V'},
                                {"help", no_argument, nullptr, 'h'},
                                {nullptr, 0, nullptr, 0}};
    int c = 0;
    bool good = true;
    while (good && (c = getopt_long(argc, argv, "C:P:k:oVh", kLong, nullptr)) != -1) {
        switch (c) {
            case 'C':
                options.device = optarg;
                break;
            case 'P':
                good = parse_number(optarg, options.port, 254);
                break;
            case 'k':
                good = parse_number(optarg, options.manager.am_key, UINT64_MAX);
                break;
            case 'o':
                options.once = true;
                break;
            case 'V':
                fmt::print("softib-am {}\n", SOFTIB_VERSION);
                std::exit(0);
            case 'h':
                fmt::print("{}", kUsage);
                std::exit(0);
            default:
                good = false;
        }
    }
    if (good && optind != argc) {
        fmt::print(stderr, "softib-am: unknown argument '{}'; see: softib-am --help\n",
                   argv[optind]);
        good = false;
    }
    return good;
}

/// It asks the SA and the nodes, and is asked by who has jobs and told by the SA.
std::vector<umad::Agent> agents() {
    using enum wire::Method;
    return {{.mgmt_class = static_cast<std::uint8_t>(wire::MgmtClass::kSharp),
             .version = wire::kSharpClassVersion,
             .methods = {kSet}},
            {.mgmt_class = static_cast<std::uint8_t>(wire::MgmtClass::kSubnAdm),
             .version = wire::kSaClassVersion,
             .methods = {kReport},
             .whole_messages = true}};
}

int open_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

class Program {
  public:
    Program(const Options& options, umad::Port& port)
        : port_(port), once_(options.once), service_(options.manager), desk_(service_) {}

    void run() {
        const int signal_fd = open_signals();
        while (true) {
            step();
            if (gone_ || (ending_ && service_.manager().is_idle()) || (once_ && known_)) {
                break;
            }
            pollfd sources[] = {{.fd = port_.fd(), .events = POLLIN, .revents = 0},
                                {.fd = signal_fd, .events = POLLIN, .revents = 0}};
            poll(sources, 2, wait_ms());
            if ((sources[0].revents & (POLLERR | POLLHUP)) != 0) {
                fmt::print(stderr, "softib-am: the port is gone\n");
                gone_ = true;
            }
            take_signal(signal_fd);
        }
        close(signal_fd);
    }

  private:
    void step() {
        look_at_fabric();
        for (bool busy = true; busy;) {
            busy = false;
            for (bool any = true; any;) {
                const auto message = port_.receive_message(any);
                busy = busy || any;
                if (message) {
                    handle(*message);
                }
            }
            if (service_.next_timeout_ns() <= now_ns()) {
                service_.handle_timeout(now_ns());
            }
            desk_.handle_timeout(now_ns());
            while (const auto packet = service_.poll_transmit(now_ns())) {
                busy = true;
                port_.send(*packet);
            }
            while (const auto packet = desk_.poll_transmit()) {
                busy = true;
                port_.send(*packet);
            }
            while (const auto event = service_.manager().poll_event()) {
                tell(*event);
            }
        }
        tell_nodes();
    }

    void handle(const umad::Port::Message& message) {
        const mad::Packet& first = message.first;
        const mad::RmppPeer from{first.slid, first.source, first.pkey, first.sl};
        if (sharp::JobDesk::takes(first.mad)) {
            desk_.handle(from, first.mad, now_ns());
        } else {
            service_.handle(from, message.bytes, now_ns());
        }
    }

    /// Where the port and its subnet manager are; the nodes are to be known before anybody asks.
    void look_at_fabric() {
        if (now_ns() < look_ns_) {
            return;
        }
        look_ns_ = now_ns() + kLookNs;
        const umad::Port::Lids lids = port_.lids();
        service_.set_subnet_manager(lids.subnet_manager);
        service_.manager().set_lid(lids.own);
        if (!known_) {
            service_.freshen(now_ns());
        }
        if (service_.trouble() != trouble_) {
            trouble_ = service_.trouble();
            if (!trouble_.empty()) {
                fmt::print(stderr, "softib-am: {}\n", trouble_);
            }
        }
    }

    int wait_ms() const {
        const std::uint64_t next =
            std::min({service_.next_timeout_ns(), desk_.next_timeout_ns(), look_ns_});
        const std::uint64_t now = now_ns();
        return next <= now ? 0
                           : static_cast<int>(
                                 std::min<std::uint64_t>((next - now) / 1'000'000 + 1, INT_MAX));
    }

    void tell_nodes() {
        if (known_ || service_.readings() == 0 || !service_.manager().is_idle()) {
            return;
        }
        known_ = true;
        fmt::print("READY: {} aggregation nodes\n", service_.manager().nodes().size());
        std::fflush(stdout);
    }

    void tell(const sharp::Event& event) {
        const sharp::JobState* const job = service_.manager().job(event.job);
        if (event.kind == sharp::Event::kJobActive && job != nullptr) {
            fmt::print("job {}: {} tree {}, {} switches, {} members\n", event.job,
                       job->streams ? "SAT" : "LLT", job->tree_id, job->plan.nodes.size(),
                       job->members.size());
        } else if (event.kind == sharp::Event::kJobFailed) {
            fmt::print("job {} failed: {}\n", event.job, job == nullptr ? "" : job->reason);
        } else if (event.kind == sharp::Event::kJobEnded) {
            fmt::print("job {} ended\n", event.job);
        }
        std::fflush(stdout);
    }

    void take_signal(int signal_fd) {
        signalfd_siginfo got{};
        while (read(signal_fd, &got, sizeof got) == sizeof got) {
            ending_ = true;
            std::vector<sharp::JobId> jobs;
            for (const auto& [id, job] : service_.manager().jobs()) {
                jobs.push_back(id);
            }
            for (const sharp::JobId id : jobs) {
                service_.manager().end_job(id);
            }
        }
    }

    static constexpr std::uint64_t kLookNs = 1'000'000'000;

    umad::Port& port_;
    bool once_;
    sharp::ManagerService service_;
    sharp::JobDesk desk_;
    std::uint64_t look_ns_ = 0;
    std::string trouble_;
    bool known_ = false;   ///< The nodes have been asked.
    bool ending_ = false;  ///< When all nodes are clean.
    bool gone_ = false;
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
    if (const auto opened = port.open(options.device, options.port); !opened) {
        fmt::print(stderr, "softib-am: {}\n", opened.error());
        return 1;
    }
    if (!port.add_agents(softib::app::agents())) {
        fmt::print(stderr, "softib-am: {} has an aggregation manager already\n", port.name());
        return 1;
    }
    fmt::print("softib-am on {}, {}\n", port.name(), softib::to_string(port.guid()));
    std::fflush(stdout);
    softib::app::Program(options, port).run();
    return 0;
}
