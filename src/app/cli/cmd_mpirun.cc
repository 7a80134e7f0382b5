// SPDX-License-Identifier: BSD-2-Clause
// softib mpirun: runs MPI programs on a fabric. The MPI's own mpirun starts `softib mpi-rank` for
// each rank, which reads its rank from the environment, enters the host of that rank, and becomes
// the program.
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/mpi_launcher.h"
#include "app/fabric/enter_host.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

constexpr std::array kRankVariables{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

/// Returns the MPI whose library a program's file needs; std::nullopt if there is none, or if the
/// file cannot be read.
std::optional<Mpi> mpi_of_file(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return std::nullopt;
    }
    std::optional<Mpi> found;
    struct stat status{};
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        const auto size = static_cast<std::size_t>(status.st_size);
        if (void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
            bytes != MAP_FAILED) {
            found = mpi_linked({static_cast<const char*>(bytes), size});
            munmap(bytes, size);
        }
    }
    close(fd);
    return found;
}

std::string version_of(const std::string& launcher) {
    const std::string command = fmt::format("'{}' --version 2>&1", launcher);
    const auto end = [](FILE* file) { pclose(file); };
    const std::unique_ptr<FILE, decltype(end)> output(popen(command.c_str(), "r"), end);
    std::string text;
    std::array<char, 512> buffer{};
    while (output != nullptr && std::fgets(buffer.data(), buffer.size(), output.get()) != nullptr) {
        text += buffer.data();
    }
    return text;
}

/// Returns the launcher's path; empty if it is not installed.
std::string find_launcher(Mpi mpi) {
    for (const std::string& name : launcher_names(mpi)) {
        const std::string path = find_in_path(name);
        if (!path.empty() && is_version_of(mpi, version_of(path))) {
            return path;
        }
    }
    return "";
}

struct Chosen {
    Mpi mpi;
    std::string launcher;
};

std::expected<Chosen, std::string> choose(const MpirunOptions& options,
                                          const std::string& program) {
    const std::optional<Mpi> named = mpi_named(options.mpi);
    const std::optional<Mpi> linked = mpi_of_file(program);
    if (named && linked && *named != *linked) {
        return std::unexpected(fmt::format(
            "{} is linked with {}: under {} each rank would be a program by itself; leave "
            "--mpi out, or build it again",
            options.command[0], title(*linked), title(*named)));
    }
    if (const std::optional<Mpi> mpi = named ? named : linked) {
        const std::string launcher = find_launcher(*mpi);
        if (launcher.empty()) {
            return std::unexpected(
                fmt::format("there is no mpirun of {} in PATH; install it: apt install {}",
                            title(*mpi), packages(*mpi)));
        }
        return Chosen{*mpi, launcher};
    }
    for (const Mpi mpi : {Mpi::kOpenMpi, Mpi::kMpich}) {
        if (const std::string launcher = find_launcher(mpi); !launcher.empty()) {
            return Chosen{mpi, launcher};
        }
    }
    return std::unexpected(
        fmt::format("there is no mpirun of Open MPI or MPICH in PATH; install one of "
                    "them: apt install {}, or {}",
                    packages(Mpi::kOpenMpi), packages(Mpi::kMpich)));
}

/// Returns the path that execvp() would use; empty if there is none.
std::string path_of(const std::string& program) {
    if (program.find('/') == std::string::npos) {
        return find_in_path(program);
    }
    return access(program.c_str(), X_OK) == 0 ? program : "";
}

/// Prints the hosts of the ranks as JSON, in the order of ranks. If there are more ranks than
/// hosts, the next ranks begin with the first host again.
void report_launch(const Observer& observer, const Chosen& chosen, std::uint32_t ranks,
                   const std::vector<std::string>& command) {
    const shm::Arena& arena = observer.arena();
    nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
    for (std::uint32_t i = 0; i < std::min(ranks, arena.header->hosts); ++i) {
        hosts.push_back(arena.hosts[i].name);
    }
    report_line({{"fabric", observer.fabric().name},
                 {"mpi", title(chosen.mpi)},
                 {"launcher", chosen.launcher},
                 {"pid", getpid()},
                 {"ranks", ranks},
                 {"hosts", hosts},
                 {"command", command}});
}

std::expected<std::uint32_t, std::string> own_rank() {
    for (const char* const name : kRankVariables) {
        const char* const value = std::getenv(name);
        std::uint32_t rank = 0;
        if (value != nullptr &&
            std::from_chars(value, value + std::strlen(value), rank).ec == std::errc{}) {
            return rank;
        }
    }
    return std::unexpected(
        "this MPI does not tell its programs which rank they are; "
        "softib mpirun knows Open MPI and MPICH");
}

}  // namespace

int cmd_mpirun(const MpirunOptions& options) {
    if (options.command.empty()) {
        return misuse("say what to run: softib mpirun -n N PROGRAM");
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    const std::string program = path_of(options.command[0]);
    if (program.empty()) {
        note(fmt::format("cannot run {}: no such program", options.command[0]));
        return 127;
    }
    const auto chosen = choose(options, program);
    if (!chosen) {
        return fail(chosen.error());
    }
    std::vector<std::string> rank_command{own_bin_dir() + "/softib", "mpi-rank"};
    if (options.real_hostname) {
        rank_command.emplace_back("--real-hostname");
    }
    rank_command.emplace_back("--");
    rank_command.insert(rank_command.end(), options.command.begin(), options.command.end());
    const std::uint32_t ranks = options.ranks.value_or(observer->arena().header->hosts);
    const MpiLaunch launch = mpi_launch(chosen->mpi, chosen->launcher, ranks, rank_command);
    for (const auto& [name, value] : launch.variables) {
        setenv(name.c_str(), value.c_str(), 0);
    }
    setenv("SOFTIB_FABRIC", observer->fabric().name.c_str(), 1);
    setenv("SOFTIB_DIR", observer->fabric().dir.c_str(), 1);
    if (options.json) {
        report_launch(*observer, *chosen, ranks, options.command);
    }
    execv(launch.command[0].c_str(), to_argv(launch.command).data());
    return fail(fmt::format("cannot run {}: {}", launch.command[0], std::strerror(errno)));
}

int cmd_mpi_rank(const MpirunOptions& options) {
    const auto rank = own_rank();
    if (!rank) {
        return fail(rank.error());
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    const shm::Arena& arena = observer->arena();
    auto host = prepare_host(observer->fabric(), arena.hosts[*rank % arena.header->hosts].name);
    if (!host) {
        return fail(host.error());
    }
    host->real_hostname = options.real_hostname;
    return become_program(*host, options.command);
}

}  // namespace softib::app
