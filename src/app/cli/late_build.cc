// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/late_build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/fabric/term.h"

namespace softib::app {
namespace {

/// Runs a program with its standard output on our standard error. Returns whether it succeeded.
bool run(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    int status = 0;
    while (failed == 0 && waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool is_left_out(std::string_view name) {
#ifdef SOFTIB_PLANNER
    static_cast<void>(name);
    return false;
#else
    return name == "sim" || name == "plan" || name == "trace";
#endif
}

int build_and_run(char** argv) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path build = self.parent_path().parent_path();
    const std::string cache = build / "CMakeCache.txt";
    // The lock is kept until another program takes the place of this one.
    const int lock = error ? -1 : open(cache.c_str(), O_RDWR | O_CLOEXEC);
    if (lock < 0) {
        return misuse(
            fmt::format("this softib was built without '{}'; build it from the sources "
                        "with: make build",
                        argv[1]));
    }
    note(fmt::format(
        "make demo left out '{}'; building it now in {}, once, which takes some minutes", argv[1],
        build.string()));
    while (flock(lock, LOCK_EX) < 0 && errno == EINTR) {
    }
    if (!run({"cmake", "-DSOFTIB_PLANNER=ON", build}) ||
        !run({"cmake", "--build", build, "--target", "softib"})) {
        return fail(
            "it could not be built; the reason stands above. To build everything, run: "
            "make build");
    }
    execv(self.c_str(), argv);
    return fail(fmt::format("cannot run {}: {}", self.string(), std::strerror(errno)));
}

}  // namespace softib::app
