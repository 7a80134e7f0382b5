// SPDX-License-Identifier: BSD-2-Clause
// Registers, deregisters and frees memory of an allocator, in two threads: calloc() must return
// zeros, and malloc()ed memory must keep its content. Started with one allocator or another
// preloaded.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr int kRounds = 120;

std::size_t dirty(const char* at, std::size_t bytes, char expected) {
    return bytes - static_cast<std::size_t>(std::count(at, at + bytes, expected));
}

/// Registers and frees memory at random. Returns the number of wrong bytes.
std::size_t churn(ibv_pd* pd, unsigned seed) {
    std::size_t bad = 0;
    char* kept[8] = {};
    std::size_t kept_bytes[8] = {};
    ibv_mr* kept_mr[8] = {};
    for (int round = 0; round < kRounds; ++round) {
        const auto random = [&](std::size_t limit) {
            return static_cast<std::size_t>(rand_r(&seed)) % limit;
        };
        const std::size_t bytes = (random(700) + 1) * 4096 - random(64);
        char* const memory = static_cast<char*>(malloc(bytes));
        std::memset(memory, 0xAB, bytes);
        ibv_mr* const mr = ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE);
        if (mr == nullptr || ibv_dereg_mr(mr) != 0) {
            std::perror("registration");
            std::exit(2);
        }
        bad += dirty(memory, bytes, static_cast<char>(0xAB));
        free(memory);
        char* const clean = static_cast<char*>(calloc(1, bytes));
        bad += dirty(clean, bytes, 0);
        // Some blocks stay registered for a while, and grow meanwhile.
        const int place = round % 8;
        if (kept[place] != nullptr) {
            ibv_dereg_mr(kept_mr[place]);
            bad += dirty(kept[place], kept_bytes[place], 'k');
            free(kept[place]);
        }
        kept[place] = clean;
        kept_bytes[place] = bytes;
        std::memset(clean, 'k', bytes);
        kept_mr[place] = ibv_reg_mr(pd, clean, bytes, IBV_ACCESS_LOCAL_WRITE);
    }
    return bad;
}

}  // namespace

int main() {
    ibv_device** const devices = ibv_get_device_list(nullptr);
    ibv_context* const context = devices != nullptr ? ibv_open_device(devices[0]) : nullptr;
    ibv_pd* const pd = context != nullptr ? ibv_alloc_pd(context) : nullptr;
    if (pd == nullptr) {
        std::perror("no device");
        return 2;
    }
    std::size_t other = 0;
    std::thread second([&] { other = churn(pd, 2); });
    const std::size_t first = churn(pd, 1);
    second.join();
    std::printf("%zu bytes wrong\n", first + other);
    return first + other == 0 ? 0 : 1;
}
