// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Command lines and settings that make the ranks of an MPI job use UCX on the fabric. All ranks are
// on one machine, where an MPI would use shared memory without these settings.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softib::app {

enum class Mpi { kOpenMpi, kMpich };

/// Returns the MPI that a user names on the command line; std::nullopt if the name is none.
std::optional<Mpi> mpi_named(std::string_view name);

/// Returns the MPI whose library a program needs, found in the bytes of the program's file.
/// Returns std::nullopt if they name none, as those of a script or an interpreter.
std::optional<Mpi> mpi_linked(std::string_view program);

/// Returns the name of an MPI, for messages.
const char* title(Mpi mpi);
/// Returns the Debian packages of an MPI, for messages.
const char* packages(Mpi mpi);

/// Returns the names of programs that may be an MPI's mpirun, the surest first.
std::vector<std::string> launcher_names(Mpi mpi);
/// Returns whether an mpirun is of this MPI, by what `mpirun --version` printed.
bool is_version_of(Mpi mpi, std::string_view text);

struct MpiLaunch {
    std::vector<std::string> command;
    /// Variables for the environment of the ranks. A value that the user has set wins.
    std::vector<std::pair<std::string, std::string>> variables;
};
/// Returns how to start a job of an MPI; `rank_command` starts one rank.
MpiLaunch mpi_launch(Mpi mpi, const std::string& launcher, std::uint32_t ranks,
                     const std::vector<std::string>& rank_command);

}  // namespace softib::app
