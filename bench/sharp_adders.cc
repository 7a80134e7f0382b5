// SPDX-License-Identifier: BSD-2-Clause
// Compares two ways to add on the direct path (ADR 26). Eight processes all-reduce floats over
// shared memory; the sum is computed by the last process to arrive, or by a ninth process, the
// aggregator. Prints microseconds of both.

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kRanks = 8;
constexpr std::size_t kCountMax = 16384;

struct alignas(64) Flag {
    std::atomic<std::uint64_t> value;
};
struct Shared {
    Flag arrived;
    Flag done;
    Flag stop;
    alignas(64) float in[kRanks][kCountMax + 16];
    alignas(64) float out[kCountMax];
};

void add(Shared& shared, std::size_t count) {
    std::memcpy(shared.out, shared.in[0], count * 4);
    for (int rank = 1; rank < kRanks; ++rank) {
        for (std::size_t i = 0; i < count; ++i) {
            shared.out[i] += shared.in[rank][i];
        }
    }
}

/// Takes part in all rounds. A round ends when `done` reaches its number, and the next begins at
/// once. So a slow process may read a later sum, which does not matter, because only times count.
void member(Shared& shared, int rank, std::size_t count, std::uint64_t rounds, bool last_adds) {
    static float mine[kCountMax];
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        std::memcpy(shared.in[rank], mine, count * 4);
        const bool last = shared.arrived.value.fetch_add(1) + 1 == round * kRanks;
        if (last && last_adds) {
            add(shared, count);
            shared.done.value.store(round);
        }
        while (shared.done.value.load() < round) {
            sched_yield();
        }
        std::memcpy(mine, shared.out, count * 4);
    }
}

double measure(std::size_t count, std::uint64_t rounds, bool last_adds) {
    void* const at =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto& shared = *static_cast<Shared*>(at);
    const auto start = std::chrono::steady_clock::now();
    for (int rank = 0; rank < kRanks; ++rank) {
        if (fork() == 0) {
            member(shared, rank, count, rounds, last_adds);
            _exit(0);
        }
    }
    for (std::uint64_t round = 1; !last_adds && round <= rounds; ++round) {
        while (shared.arrived.value.load() < round * kRanks) {
            sched_yield();
        }
        add(shared, count);
        shared.done.value.store(round);
    }
    while (wait(nullptr) > 0) {
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    munmap(at, sizeof(Shared));
    return took.count() / static_cast<double>(rounds);
}

}  // namespace

int main() {
    for (const std::size_t bytes : {8U, 1024U, 16384U, 65536U}) {
        const std::uint64_t rounds = bytes < 16384 ? 20000 : 4000;
        std::printf("%zu bytes: members %.2f us, aggregator %.2f us\n", bytes,
                    measure(bytes / 4, rounds, true), measure(bytes / 4, rounds, false));
    }
    return 0;
}
