// SPDX-License-Identifier: BSD-2-Clause
// Asks a fabric's daemon for its manager's status once a millisecond, and prints how long answers
// took: median, 99th percentile and the longest, in microseconds. bench/telemetry.py compares these
// times with and without a process that samples the fabric.
//
//     bench_ask_daemon FABRIC_DIRECTORY SECONDS
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "runtime/shm/rpc.h"

namespace softib {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the microseconds that an answer took; a negative number if none came.
double ask(int daemon) {
    shm::Message message;
    shm::request::Manager::Reply told;
    const shm::request::Manager request{.command = shm::ManagerCommand::kStatus};
    const Clock::time_point begin = Clock::now();
    const int error = shm::rpc_ask(daemon, request, message, told);
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    return error == 0 ? took.count() : -1;
}

int run(const char* dir, double seconds) {
    const int daemon = shm::rpc_connect(dir);
    if (daemon < 0) {
        std::perror(dir);
        return 1;
    }
    std::vector<double> took;
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
    while (Clock::now() < end) {
        took.push_back(ask(daemon));
        if (took.back() < 0) {
            std::fprintf(stderr, "%s: the daemon does not answer\n", dir);
            return 1;
        }
        poll(nullptr, 0, 1);
    }
    std::ranges::sort(took);
    std::printf("%.2f %.2f %.2f %zu\n", took[took.size() / 2], took[took.size() * 99 / 100],
                took.back(), took.size());
    close(daemon);
    return 0;
}

}  // namespace
}  // namespace softib

int main(int argc, char** argv) {
    if (argc != 3 || std::atof(argv[2]) <= 0) {
        std::fputs("usage: bench_ask_daemon FABRIC_DIRECTORY SECONDS\n", stderr);
        return 2;
    }
    return softib::run(argv[1], std::atof(argv[2]));
}
