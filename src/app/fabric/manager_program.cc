// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/manager_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>

#include "app/fabric/child_program.h"
#include "app/fabric/environment.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "view/health.h"

namespace softib::app {

namespace {

constexpr char kProgram[] = "opensm";
constexpr char kManagerLog[] = "opensm.log";
constexpr char kManagerOutput[] = "opensm.out";
constexpr std::chrono::seconds kActiveTimeout{90};
constexpr int kManagerTickMs = 50;
constexpr std::size_t kLogLinesShown = 8;

std::string in_manager_dir(const FabricRef& fabric, const char* name) {
    return fabric.dir + "/" + kManagerDirName + "/" + name;
}

/// Returns the path of opensm, in PATH or in the sbin directories; empty if there is none.
std::string find_program() {
    return find_in_path(kProgram, "/usr/sbin:/sbin:/usr/local/sbin");
}

/// Returns whether OpenSM has ended at least once. If it ends while the fabric comes up, there is
/// no use in waiting for the next start.
bool has_ended(const Observer& observer) {
    for (const view::Helper& helper : view::read_health(observer.daemon())) {
        if (helper.name == kManagerHelper && helper.last_end != 0) {
            return true;
        }
    }
    return false;
}

std::string last_lines(const FabricRef& fabric) {
    for (const char* const name : {kManagerLog, kManagerOutput}) {
        std::ifstream in(in_manager_dir(fabric, name));
        std::deque<std::string> lines;
        for (std::string line; std::getline(in, line);) {
            lines.push_back(line);
            if (lines.size() > kLogLinesShown) {
                lines.pop_front();
            }
        }
        if (!lines.empty()) {
            return fmt::format("; the end of its {}:\n  {}", name, fmt::join(lines, "\n  "));
        }
    }
    return "";
}

bool is_waiting(const std::atomic<PortState>& state) {
    const PortState now = state.load(std::memory_order_relaxed);
    return now == PortState::kInit || now == PortState::kArmed;
}

/// Returns the number of ports with a cable that are not active.
std::uint32_t count_waiting(const shm::Arena& arena) {
    std::uint32_t waiting = 0;
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        waiting += is_waiting(arena.hcas[i].state) ? 1U : 0U;
    }
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        for (std::uint32_t port = 1; port < sw.port_count; ++port) {
            waiting += is_waiting(arena.switch_ports[sw.port_first + port].state) ? 1U : 0U;
        }
    }
    return waiting;
}

}  // namespace

std::expected<std::vector<std::string>, std::string> split_words(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    char quote = 0;
    for (const char c : text) {
        if (quote != 0) {
            if (c == quote) {
                quote = 0;
            } else {
                word += c;
            }
        } else if (c == '\'' || c == '"') {
            quote = c;
            inside = true;
        } else if (c == ' ' || c == '\t' || c == '\n') {
            if (inside) {
                words.push_back(std::exchange(word, {}));
            }
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    if (quote != 0) {
        return std::unexpected(fmt::format("a {} is not closed", quote));
    }
    if (inside) {
        words.push_back(word);
    }
    return words;
}

std::expected<void, std::string> check_manager(const spec::Description& description) {
    if (description.manager != "opensm") {
        return description.manager_args.empty()
                   ? std::expected<void, std::string>{}
                   : std::unexpected(std::string("--sm-args is for --sm opensm"));
    }
    const auto words = split_words(description.manager_args);
    if (!words) {
        return std::unexpected("--sm-args: " + words.error());
    }
    for (const char* const word : {"-B", "--daemon"}) {
        if (std::ranges::find(*words, word) != words->end()) {
            return std::unexpected(
                fmt::format("--sm-args: leave out {}: OpenSM runs in the background anyway", word));
        }
    }
    if (find_program().empty()) {
        return std::unexpected("opensm is not installed; get it with: apt install opensm");
    }
    return {};
}

std::expected<pid_t, std::string> start_manager(const FabricRef& fabric,
                                                const spec::Description& description,
                                                const std::string& host) {
    if (auto checked = check_manager(description); !checked) {
        return std::unexpected(checked.error());
    }
    const std::string dir = fabric.dir + "/" + kManagerDirName;
    mkdir(dir.c_str(), 0700);
    std::vector<std::string> args{
        own_bin_dir() + "/softib",          "exec", host, "--", find_program(), "-f",
        in_manager_dir(fabric, kManagerLog)};
    const auto words = split_words(description.manager_args);
    args.insert(args.end(), words->begin(), words->end());
    return start_child(args,
                       child_environment({{"SOFTIB_FABRIC", fabric.name},
                                          {"SOFTIB_DIR", fabric.dir},
                                          {"OSM_CACHE_DIR", dir},
                                          {"OSM_TMP_DIR", dir}}),
                       in_manager_dir(fabric, kManagerOutput));
}

std::expected<void, std::string> wait_until_managed(const FabricRef& fabric) {
    const auto observer = Observer::open(fabric);
    if (!observer) {
        return std::unexpected(observer.error());
    }
    Progress progress(fmt::format("fabric {}: OpenSM brings it up", fabric.name));
    const auto deadline = std::chrono::steady_clock::now() + kActiveTimeout;
    while (const std::uint32_t waiting = count_waiting(observer->arena())) {
        if (has_ended(*observer)) {
            return std::unexpected("OpenSM ended before the fabric was up" + last_lines(fabric));
        }
        if (std::chrono::steady_clock::now() > deadline) {
            return std::unexpected(
                fmt::format("OpenSM did not bring the fabric up within {} s: {} not active{}",
                            kActiveTimeout.count(), counted(waiting, "port"), last_lines(fabric)));
        }
        poll(nullptr, 0, kManagerTickMs);
        progress.set(fmt::format("fabric {}: OpenSM brings it up, {} to go", fabric.name,
                                 counted(waiting, "port")));
    }
    return {};
}

}  // namespace softib::app
