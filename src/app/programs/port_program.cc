// SPDX-License-Identifier: BSD-2-Clause
#include "app/programs/port_program.h"

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
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace softib::app {

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
}

bool PortCommand::parse_number(const char* text, std::uint64_t& value, std::uint64_t most) const {
    const bool hex = std::strncmp(text, "0x", 2) == 0;
    const char* const begin = hex ? text + 2 : text;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(begin, end, value, hex ? 16 : 10);
    if (error != std::errc{} || rest != end || value > most) {
        fmt::print(stderr, "{}: '{}' is no number from 0 to {}\n", name_, text, most);
        return false;
    }
    return true;
}

bool PortCommand::take_common(int letter, PortOptions& options) const {
    switch (letter) {
        case 'C':
            options.device = optarg;
            return true;
        case 'P':
            return take_number(optarg, options.port, 254);
        case 'o':
            options.once = true;
            return true;
        case 'V':
            fmt::print("{} {}\n", name_, SOFTIB_VERSION);
            std::exit(0);
        case 'h':
            fmt::print("{}", usage_);
            std::exit(0);
        default:
            return false;
    }
}

bool PortCommand::parse_arguments(int argc, char** argv, PortOptions& options,
                                  std::span<const OwnOption> own) const {
    std::vector<option> names = {{"device", required_argument, nullptr, 'C'},
                                 {"port", required_argument, nullptr, 'P'},
                                 {"once", no_argument, nullptr, 'o'},
                                 {"version", no_argument, nullptr, 'V'},
                                 {"help", no_argument, nullptr, 'h'}};
    std::string letters = "C:P:oVh";
    for (const OwnOption& one : own) {
        names.push_back({one.name, one.has_value ? required_argument : no_argument, nullptr,
                         static_cast<int>(one.letter)});
        letters += one.letter;
        letters += one.has_value ? ":" : "";
    }
    names.push_back({nullptr, 0, nullptr, 0});
    int letter = 0;
    while ((letter = getopt_long(argc, argv, letters.c_str(), names.data(), nullptr)) != -1) {
        const auto found = std::ranges::find(own, letter, &OwnOption::letter);
        if (!(found == own.end() ? take_common(letter, options) : found->take(optarg))) {
            return false;
        }
    }
    if (optind != argc) {
        fmt::print(stderr, "{0}: unknown argument '{1}'; see: {0} --help\n", name_, argv[optind]);
        return false;
    }
    return true;
}

bool PortCommand::parse(int argc, char** argv, PortOptions& options,
                        std::span<const OwnOption> own) const {
    if (!parse_arguments(argc, argv, options, own)) {
        fmt::print(stderr, "{}", usage_);
        return false;
    }
    return true;
}

PortProgram::PortProgram(const char* name, umad::Port& port, std::initializer_list<int> signals)
    : name_(name), port_(port) {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : signals) {
        sigaddset(&set, number);
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

PortProgram::~PortProgram() {
    close(signal_fd_);
}

int PortProgram::wait_ms() const {
    const std::uint64_t next = next_timeout_ns();
    const std::uint64_t now = now_ns();
    if (next == UINT64_MAX) {
        return -1;
    }
    return next <= now
               ? 0
               : static_cast<int>(std::min<std::uint64_t>((next - now) / 1'000'000 + 1, INT_MAX));
}

void PortProgram::run() {
    while (true) {
        step();
        if (is_over()) {
            return;
        }
        pollfd sources[] = {{.fd = port_.fd(), .events = POLLIN, .revents = 0},
                            {.fd = signal_fd_, .events = POLLIN, .revents = 0}};
        poll(sources, 2, wait_ms());
        signalfd_siginfo got{};
        while (read(signal_fd_, &got, sizeof got) == sizeof got) {
            handle_signal(static_cast<int>(got.ssi_signo));
        }
        if ((sources[0].revents & (POLLERR | POLLHUP)) != 0) {
            fmt::print(stderr, "{}: the port is gone\n", name_);
            return;
        }
    }
}

}  // namespace softib::app
