// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/mpi_launcher.h"

#include <fmt/format.h>

namespace softib::app {

std::optional<Mpi> mpi_named(std::string_view name) {
    if (name == "openmpi") {
        return Mpi::kOpenMpi;
    }
    return name == "mpich" ? std::optional(Mpi::kMpich) : std::nullopt;
}

std::optional<Mpi> mpi_linked(std::string_view program) {
    const auto names = [&](std::string_view library) {
        return program.find(library) != std::string_view::npos;
    };
    if (!program.starts_with("\177ELF")) {
        return std::nullopt;
    }
    // The name of MPICH's library on Debian, and the one that all MPIs of its family share.
    if (names("libmpich.so.") || names("libmpi.so.12")) {
        return Mpi::kMpich;
    }
    return names("libmpi.so.") ? std::optional(Mpi::kOpenMpi) : std::nullopt;
}

const char* title(Mpi mpi) {
    return mpi == Mpi::kOpenMpi ? "Open MPI" : "MPICH";
}

const char* packages(Mpi mpi) {
    return mpi == Mpi::kOpenMpi ? "openmpi-bin libopenmpi-dev" : "mpich libmpich-dev";
}

std::vector<std::string> launcher_names(Mpi mpi) {
    if (mpi == Mpi::kOpenMpi) {
        return {"mpirun.openmpi", "mpirun"};
    }
    return {"mpirun.mpich", "mpiexec.hydra", "mpirun"};
}

bool is_version_of(Mpi mpi, std::string_view text) {
    const auto says = [&](std::string_view word) {
        return text.find(word) != std::string_view::npos;
    };
    return mpi == Mpi::kOpenMpi ? says("Open MPI") || says("OpenRTE") : says("HYDRA");
}

MpiLaunch mpi_launch(Mpi mpi, const std::string& launcher, std::uint32_t ranks,
                     const std::vector<std::string>& rank_command) {
    MpiLaunch launch;
    // Reliable connections, for which UCX uses datagrams too, and a rank's messages to itself.
    launch.variables = {{"UCX_TLS", "rc_v,self"}};
    if (mpi == Mpi::kOpenMpi) {
        launch.command = {launcher, "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"};
        // Debian turns UCX off, and Open MPI does not use it unless it knows the transport and the
        // driver. MPI windows are in shared memory only if a program asks for that explicitly.
        launch.variables.insert(launch.variables.end(),
                                {{"OMPI_MCA_pml", "ucx"},
                                 {"OMPI_MCA_opal_common_ucx_tls", "any"},
                                 {"OMPI_MCA_opal_common_ucx_devices", "any"},
                                 {"OMPI_MCA_osc", "ucx,sm"},
                                 {"OMPI_MCA_osc_ucx_priority", "200"},
                                 {"OMPI_MCA_btl", "self"},
                                 {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                 {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
    } else {
        launch.command = {launcher, "-launcher", "fork"};
        launch.variables.emplace_back("MPIR_CVAR_NOLOCAL", "1");
    }
    launch.command.insert(launch.command.end(), {"-n", std::to_string(ranks)});
    launch.command.insert(launch.command.end(), rank_command.begin(), rank_command.end());
    return launch;
}

}  // namespace softib::app
