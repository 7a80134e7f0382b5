// SPDX-License-Identifier: BSD-2-Clause
// Increments the counters of every port of a running fabric, as if all of them carried traffic.
// bench/telemetry.py measures with it what sampling a busy fabric costs, since no machine can run
// programs on 10,000 hosts.
//
//     bench_busy_ports FABRIC_DIRECTORY SECONDS
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/prng.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/rpc.h"

namespace softib {
namespace {

constexpr int kTurnMs = 250;
constexpr std::uint64_t kWordsMost = 400'000'000;  // An eighth of what NDR carries in a turn.
constexpr std::uint64_t kWordsPerPacket = 1030;

void carry(shm::PortTotals& totals, Prng& prng) {
    const std::uint64_t sent = prng.below(kWordsMost);
    const std::uint64_t received = prng.below(kWordsMost);
    totals.xmit_words += sent;
    totals.rcv_words += received;
    totals.xmit_packets += sent / kWordsPerPacket;
    totals.rcv_packets += received / kWordsPerPacket;
    totals.xmit_wait += prng.chance(1, 10) ? sent / 10 : 0;
}

/// Maps the arena for writing. The file that the daemon gives to observers can only be read, but
/// its owner may open it again for writing.
shm::Arena open_writable(const std::string& dir) {
    const int daemon = shm::rpc_connect(dir.c_str());
    shm::Message message;
    shm::request::OneFile file;
    if (daemon < 0 || shm::rpc_ask(daemon, shm::request::Observe{}, message, file) != 0) {
        return {};
    }
    const std::string path = "/proc/self/fd/" + std::to_string(file.file);
    return shm::arena_map(open(path.c_str(), O_RDWR | O_CLOEXEC), true);
}

int run(const std::string& dir, int seconds) {
    const shm::Arena arena = open_writable(dir);
    if (arena.base == nullptr) {
        std::fprintf(stderr, "no fabric answers in %s\n", dir.c_str());
        return 1;
    }
    Prng prng(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < end) {
        for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
            carry(arena.hcas[i].totals, prng);
        }
        for (std::uint32_t i = 0; i < arena.header->switch_ports; ++i) {
            carry(arena.switch_ports[i].totals, prng);
        }
        poll(nullptr, 0, kTurnMs);
    }
    return 0;
}

}  // namespace
}  // namespace softib

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: bench_busy_ports FABRIC_DIRECTORY SECONDS\n");
        return 2;
    }
    return softib::run(argv[1], std::atoi(argv[2]));
}
