// SPDX-License-Identifier: BSD-2-Clause
#include "parallel/for_each.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace softib::parallel {

void for_each(std::size_t count, std::uint32_t threads,
              const std::function<void(std::size_t)>& work,
              const std::function<void(std::size_t)>& watch) {
    constexpr std::chrono::milliseconds kWatchEvery(5);
    const std::uint32_t cores = std::max(std::thread::hardware_concurrency(), 1U);
    const std::size_t team_size = std::min<std::size_t>(threads != 0 ? threads : cores, count);
    if (team_size <= 1 && !watch) {
        for (std::size_t i = 0; i < count; ++i) {
            work(i);
        }
        return;
    }
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};
    std::vector<std::thread> team;
    for (std::size_t member = 0; member < team_size; ++member) {
        team.emplace_back([&] {
            for (std::size_t i = next++; i < count; i = next++) {
                work(i);
                ++done;
            }
        });
    }
    while (watch && done < count) {
        watch(done);
        std::this_thread::sleep_for(kWatchEvery);
    }
    for (std::thread& member : team) {
        member.join();
    }
}

}  // namespace softib::parallel
