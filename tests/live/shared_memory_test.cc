// SPDX-License-Identifier: BSD-2-Clause
// Memory that a program has mapped MAP_SHARED: another process that writes to it maps it too, where
// the kernel lets the owner open the file behind it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "actor.h"

namespace softib::test {
namespace {

std::vector<std::string> shared_mappings() {
    std::ifstream file("/proc/self/maps");
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
        if (line.find("/dev/zero (deleted)") != std::string::npos) {
            found.push_back(line.substr(0, line.find(' ')));
        }
    }
    return found;
}

/// Returns whether the kernel lets this process open the file behind a mapping of its own.
bool kernel_lets_us() {
    void* at = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char path[96];
    std::snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx",
                  reinterpret_cast<unsigned long>(at), reinterpret_cast<unsigned long>(at) + kPage);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    munmap(at, kPage);
    return fd >= 0 && close(fd) == 0;
}

struct Link {
    Link() {
        Reply qps[2];
        Actor* sides[] = {here.get(), there.get()};
        for (int s = 0; s < 2; ++s) {
            qps[s] = sides[s]->run({.op = Command::kMakeQp, .arg = {IBV_QPT_RC}});
            sides[s]->run({.op = Command::kFill, .arg = {static_cast<std::uint64_t>(s) * 77}});
        }
        for (int s = 0; s < 2; ++s) {
            const Reply& other = qps[1 - s];
            sides[s]->run({.op = Command::kConnect,
                           .arg = {qps[s].value[0], other.value[1], other.value[2]}});
        }
    }
    void run(ibv_wr_opcode opcode, std::uint64_t local, std::uint64_t bytes) {
        Command c{.op = Command::kSend,
                  .arg = {0, opcode, IBV_SEND_SIGNALED, to.value[2], to.value[1], 1}};
        c.sges = 1;
        c.sge[0] = {from.value[0], local, static_cast<std::uint32_t>(bytes)};
        here->run(c);
        EXPECT_EQ(here->run({.op = Command::kPoll}).value[0], IBV_WC_SUCCESS);
    }

    std::unique_ptr<Actor> here = make_actor(0, false);
    std::unique_ptr<Actor> there = make_actor(1, true);
    Reply from = here->run({.op = Command::kRegister, .arg = {0, kActorBytes}});
    Reply to;
};

TEST(SharedMemory, APeerMapsItForAsLongAsItIsRegistered) {
    const char* tier = std::getenv("SOFTIB_MEMORY_TIER");
    const bool mapped =
        kernel_lets_us() && tier != nullptr && std::strcmp(tier, "1") == 0 && !on_packet_path();
    Link link;
    const std::size_t own = shared_mappings().size();
    // The region goes from a private page to a private page, with the shared pages between.
    const std::uint64_t begin = kSharedBegin - 100;
    const std::uint64_t bytes = kSharedEnd - kSharedBegin + 200;
    link.to = link.there->run({.op = Command::kRegister, .arg = {begin, bytes}});
    link.run(IBV_WR_RDMA_WRITE, 5, bytes);
    link.here->run({.op = Command::kShow});
    link.there->run({.op = Command::kShow});
    EXPECT_EQ(std::memcmp(link.there->shown().data() + begin, link.here->shown().data() + 5, bytes),
              0);
    EXPECT_EQ(shared_mappings().size(), own + mapped);
    link.there->run({.op = Command::kFill, .arg = {200}});
    link.run(IBV_WR_RDMA_READ, 64, bytes);
    link.here->run({.op = Command::kShow});
    link.there->run({.op = Command::kShow});
    EXPECT_EQ(
        std::memcmp(link.there->shown().data() + begin, link.here->shown().data() + 64, bytes), 0);

    link.there->run({.op = Command::kDeregister, .arg = {link.to.value[0]}});
    std::size_t left = own + 1;
    for (std::chrono::milliseconds waited{}; waited < kLong && left != own; waited += 1ms) {
        left = shared_mappings().size();
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(left, own) << "what the peer deregistered is still mapped";
}

TEST(SharedMemory, AtomicsAddToTheSameWordAsTheOwner) {
    Link link;
    link.to = link.there->run({.op = Command::kRegister, .arg = {kSharedBegin, 64}});
    link.there->run({.op = Command::kShow});
    std::uint64_t before = 0;
    std::memcpy(&before, link.there->shown().data() + kSharedBegin, sizeof before);
    for (std::uint64_t i = 0; i < 3; ++i) {
        link.run(IBV_WR_ATOMIC_FETCH_AND_ADD, 8 * i, 8);
    }
    link.there->run({.op = Command::kShow});
    link.here->run({.op = Command::kShow});
    std::uint64_t after = 0;
    std::memcpy(&after, link.there->shown().data() + kSharedBegin, sizeof after);
    EXPECT_EQ(after, before + 3);
    for (std::uint64_t i = 0; i < 3; ++i) {
        std::uint64_t told = 0;
        std::memcpy(&told, link.here->shown().data() + 8 * i, sizeof told);
        EXPECT_EQ(told, before + i);
    }
}

}  // namespace
}  // namespace softib::test
