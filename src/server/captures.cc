// SPDX-License-Identifier: BSD-2-Clause
#include "server/captures.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace softib::server {

namespace {

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Starts a program whose standard error goes to a file. Returns its pid; 0, with errno set, if it
/// cannot be started.
pid_t spawn(const std::vector<std::string>& words, const std::string& log) {
    std::vector<char*> argv;
    for (const std::string& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);  // The server's threads block signals that must end the capture.
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    errno = error;
    return error == 0 ? pid : 0;
}

}  // namespace

Captures::~Captures() {
    for (const Entry& entry : entries_) {
        if (entry.pid != 0) {
            kill(entry.pid, SIGTERM);
            waitpid(entry.pid, nullptr, 0);
        }
    }
}

std::string Captures::path_of(std::uint32_t id, const char* suffix) const {
    return fmt::format("{}/telemetry/capture-{}.{}", dir_, id, suffix);
}

void Captures::look() {
    for (Entry& entry : entries_) {
        int status = 0;
        if (entry.pid != 0 && waitpid(entry.pid, &status, WNOHANG) == entry.pid) {
            entry.pid = 0;
            entry.capture.running = false;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                entry.capture.trouble = read_all(path_of(entry.capture.id, "log"));
                entry.capture.trouble.resize(
                    std::min(entry.capture.trouble.size(), entry.capture.trouble.find('\n')));
            }
        }
        struct stat file{};
        if (stat(path_of(entry.capture.id, "pcap").c_str(), &file) == 0) {
            entry.capture.bytes = static_cast<std::uint64_t>(file.st_size);
        }
    }
}

std::expected<std::uint32_t, std::string> Captures::start(std::vector<std::string> ports,
                                                          std::uint64_t packets) {
    const std::lock_guard lock(mutex_);
    look();
    if (entries_.size() >= kMost) {
        const auto old = std::ranges::find(entries_, 0, &Entry::pid);
        if (old == entries_.end()) {
            return std::unexpected(fmt::format("{} captures are running; stop one", kMost));
        }
        for (const char* const suffix : {"pcap", "log"}) {
            std::remove(path_of(old->capture.id, suffix).c_str());
        }
        entries_.erase(old);
    }
    const std::uint32_t id = next_++;
    std::vector<std::string> words{
        program_, "capture",           "--fabric", dir_.substr(dir_.rfind('/') + 1),
        "-w",     path_of(id, "pcap"), "--count",  std::to_string(packets)};
    words.insert(words.end(), ports.begin(), ports.end());
    const pid_t pid = spawn(words, path_of(id, "log"));
    if (pid == 0) {
        return std::unexpected(fmt::format("cannot start {}: {}", program_, std::strerror(errno)));
    }
    entries_.push_back({{.id = id,
                         .ports = std::move(ports),
                         .packets = packets,
                         .running = true,
                         .bytes = 0,
                         .trouble = {}},
                        pid});
    return id;
}

bool Captures::stop(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    const auto entry =
        std::ranges::find_if(entries_, [&](const Entry& each) { return each.capture.id == id; });
    if (entry == entries_.end()) {
        return false;
    }
    if (entry->pid != 0) {
        kill(entry->pid, SIGINT);
    }
    return true;
}

std::vector<Captures::Capture> Captures::list() {
    const std::lock_guard lock(mutex_);
    look();
    std::vector<Capture> captures;
    for (const Entry& entry : entries_) {
        captures.push_back(entry.capture);
    }
    return captures;
}

std::string Captures::file_of(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    const bool known =
        std::ranges::any_of(entries_, [&](const Entry& each) { return each.capture.id == id; });
    return known ? path_of(id, "pcap") : std::string{};
}

}  // namespace softib::server
