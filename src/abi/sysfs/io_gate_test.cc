// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sysfs/io_gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

extern "C" {
bool softib_fs_close_io_gate(std::uint64_t begin, std::uint64_t end);
void softib_fs_open_io_gate();
}

namespace softib::sysfs {
namespace {

char g_open[16];
char g_closed[16];

/// Returns whether a thread of this process sleeps.
bool sleeps(pid_t tid) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t state = line.rfind(')') + 2;
    return state < line.size() && line[state] == 'S';
}

/// Closes g_closed, begins `nested` calls on other memory and in them one on g_closed, all in
/// another thread. Expects the last one to wait until the gate is open.
void expect_to_wait(int nested) {
    const auto begin = reinterpret_cast<std::uintptr_t>(g_closed);
    ASSERT_TRUE(softib_fs_close_io_gate(begin, begin + sizeof g_closed));
    std::atomic<pid_t> tid{0};
    std::atomic<bool> is_open{false};
    std::atomic<bool> has_entered{false};
    std::thread caller([&] {
        std::optional<IoPass> outer[8];
        for (int i = 0; i < nested; ++i) {
            outer[i].emplace(g_open, sizeof g_open);
        }
        tid = gettid();
        const IoPass pass(g_closed, sizeof g_closed);
        EXPECT_TRUE(is_open);
        has_entered = true;
        // Calls end in the reverse order.
        for (int i = nested; i-- > 0;) {
            outer[i].reset();
        }
    });
    while (!has_entered && !(tid != 0 && sleeps(tid))) {
        std::this_thread::yield();
    }
    is_open = true;
    softib_fs_open_io_gate();
    caller.join();
    EXPECT_TRUE(softib_fs_close_io_gate(begin, begin + sizeof g_closed)) << "a call is left over";
    softib_fs_open_io_gate();
}

TEST(IoGate, ACallOnClosedMemoryWaits) {
    expect_to_wait(0);
}

TEST(IoGate, ACallThatHasNoRecordWaitsToo) {
    expect_to_wait(6);
}

}  // namespace
}  // namespace softib::sysfs
