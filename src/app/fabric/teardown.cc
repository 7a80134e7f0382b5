// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/teardown.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <thread>

namespace softib::app {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kPoliteFor{2000};
constexpr std::chrono::milliseconds kForcedFor{2000};
constexpr std::chrono::milliseconds kLookEvery{10};

bool runs_on(const fs::path& proc, const std::string& marker) {
    struct stat st{};
    if (stat(proc.c_str(), &st) != 0 || st.st_uid != geteuid()) {
        return false;
    }
    std::ifstream in(proc / "environ", std::ios::binary);
    std::string environment(1, '\0');
    environment.append(std::istreambuf_iterator<char>(in), {});
    return environment.find(marker) != std::string::npos;
}

std::set<pid_t> find_programs(const std::string& dir) {
    const std::string marker = '\0' + fmt::format("SOFTIB_DIR={}", dir) + '\0';
    std::set<pid_t> found;
    std::error_code error;
    for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        pid_t pid = 0;
        const auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (bad == std::errc{} && *rest == '\0' && pid != getpid() && runs_on(it->path(), marker)) {
            found.insert(pid);
        }
    }
    return found;
}

/// Signals the programs on the fabric, each once, until none is left or `patience` is over. Returns
/// whether none is left.
bool signal_until_gone(const std::string& dir, int signal, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::set<pid_t> told;
    while (true) {
        const std::set<pid_t> left = find_programs(dir);
        if (left.empty()) {
            return true;
        }
        for (const pid_t pid : left) {
            if (told.insert(pid).second) {
                kill(pid, signal);
                kill(pid, SIGCONT);
            }
        }
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(kLookEvery);
    }
}

}  // namespace

void end_programs(const std::string& dir) {
    if (!signal_until_gone(dir, SIGTERM, kPoliteFor)) {
        signal_until_gone(dir, SIGKILL, kForcedFor);
    }
}

}  // namespace softib::app
