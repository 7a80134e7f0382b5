// SPDX-License-Identifier: BSD-2-Clause
// Measures what the machine itself can do, as the yardstick for the fabric: a cache line passed
// between two cores and back, memcpy within one core, and TCP connections over the loopback
// interface.
//
//   bench_machine pingpong       nanoseconds one way
//   bench_machine memcpy BYTES   bytes per nanosecond (GB/s)
//   bench_machine connect COUNT  microseconds for a connection, one after the other

#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

double now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
}

struct Lines {
    alignas(64) std::atomic<std::uint64_t> there;
    alignas(64) std::atomic<std::uint64_t> back;
};

int pingpong() {
    constexpr std::uint64_t kRounds = 200'000;
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 1;
    }
    auto* lines = static_cast<Lines*>(memory);
    const pid_t child = fork();
    if (child == 0) {
        pin(1);
        for (std::uint64_t i = 1; i <= kRounds; ++i) {
            while (lines->there.load(std::memory_order_acquire) != i) {
            }
            lines->back.store(i, std::memory_order_release);
        }
        _exit(0);
    }
    pin(0);
    const double start = now_ns();
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
        lines->there.store(i, std::memory_order_release);
        while (lines->back.load(std::memory_order_acquire) != i) {
        }
    }
    std::printf("%.1f\n", (now_ns() - start) / (2.0 * kRounds));
    waitpid(child, nullptr, 0);
    return 0;
}

int copy(std::size_t bytes) {
    auto* from = static_cast<char*>(std::aligned_alloc(4096, bytes));
    auto* to = static_cast<char*>(std::aligned_alloc(4096, bytes));
    std::memset(from, 1, bytes);
    std::memset(to, 2, bytes);
    pin(1);
    const std::size_t rounds = (std::size_t{1} << 31) / bytes;
    const double start = now_ns();
    for (std::size_t i = 0; i < rounds; ++i) {
        std::memcpy(to, from, bytes);
        asm volatile("" ::"r"(to) : "memory");
    }
    std::printf("%.2f\n",
                static_cast<double>(bytes) * static_cast<double>(rounds) / (now_ns() - start));
    return 0;
}

/// Makes connections between two processes; all stay open to the end.
int connect_many(long count) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (bind(listener, address, bytes) != 0 || listen(listener, static_cast<int>(count)) != 0 ||
        getsockname(listener, address, &bytes) != 0) {
        std::perror("listen");
        return 1;
    }
    const pid_t child = fork();
    if (child == 0) {
        pin(0);
        for (long i = 0; i < count; ++i) {
            if (accept(listener, nullptr, nullptr) < 0) {
                _exit(1);
            }
        }
        _exit(0);
    }
    pin(1);
    const double start = now_ns();
    for (long i = 0; i < count; ++i) {
        if (connect(socket(AF_INET, SOCK_STREAM, 0), address, bytes) != 0) {
            std::perror("connect");
            kill(child, SIGKILL);
            return 1;
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%.2f\n", (now_ns() - start) / (1e3 * static_cast<double>(count)));
    return status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "pingpong") == 0) {
        return pingpong();
    }
    if (argc == 3 && std::strcmp(argv[1], "memcpy") == 0 && std::atol(argv[2]) >= 4096) {
        return copy(static_cast<std::size_t>(std::atol(argv[2])));
    }
    if (argc == 3 && std::strcmp(argv[1], "connect") == 0 && std::atol(argv[2]) > 0) {
        return connect_many(std::atol(argv[2]));
    }
    std::fprintf(stderr, "usage: %s pingpong | memcpy BYTES (4096 or more) | connect COUNT\n",
                 argv[0]);
    return 2;
}
