// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Starts MPI libraries so that their ranks use UCX on the fabric: all ranks are on one machine, and
// without these settings an MPI would use its shared memory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softib::app {

enum class Mpi { kOpenMpi, kMpich };

/// As a user names it on the command line.
std::optional<Mpi> mpi_named(std::string_view name);

/// The MPI whose library a program names, by the program's bytes. A script or an interpreter names
/// none.
std::optional<Mpi> mpi_linked(std::string_view program);

/// For messages: what it is called, and how to get it.
const char* title(Mpi mpi);
const char* packages(Mpi mpi);

/// Programs that may be its mpirun, the surest first.
std::vector<std::string> launcher_names(Mpi mpi);
/// Whether what `mpirun --version` prints is of this MPI.
bool is_version_of(Mpi mpi, std::string_view text);

struct MpiLaunch {
    std::vector<std::string> command;
    /// For the environment, where they are not set yet: what the user says counts.
    std::vector<std::pair<std::string, std::string>> variables;
};
/// `rank_command` starts one rank.
MpiLaunch mpi_launch(Mpi mpi, const std::string& launcher, std::uint32_t ranks,
                     const std::vector<std::string>& rank_command);

}  // namespace softib::app
