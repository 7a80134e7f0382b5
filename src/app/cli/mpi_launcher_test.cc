// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/mpi_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace softib::app {
namespace {

std::string program_with(const std::string& library) {
    return "\177ELF" + std::string(100, '\0') + "libc.so.6" + '\0' + library + '\0';
}

std::string value_of(const MpiLaunch& launch, const std::string& name) {
    const auto found =
        std::ranges::find(launch.variables, name, &std::pair<std::string, std::string>::first);
    return found == launch.variables.end() ? "" : found->second;
}

TEST(MpiLauncher, LibraryTellsWhichMpi) {
    EXPECT_EQ(mpi_linked(program_with("libmpi.so.40")), Mpi::kOpenMpi);
    EXPECT_EQ(mpi_linked(program_with("libmpich.so.12")), Mpi::kMpich);
    EXPECT_EQ(mpi_linked(program_with("libmpi.so.12")), Mpi::kMpich);
    EXPECT_EQ(mpi_linked(program_with("libm.so.6")), std::nullopt);
    EXPECT_EQ(mpi_linked("#!/bin/sh\n# libmpi.so.40\n"), std::nullopt);
    EXPECT_EQ(mpi_linked(""), std::nullopt);
}

TEST(MpiLauncher, VersionTellsWhoseMpirunItIs) {
    for (const char* const text :
         {"mpirun (Open MPI) 5.0.3\n", "mpirun.openmpi (OpenRTE) 4.1.4\n"}) {
        EXPECT_TRUE(is_version_of(Mpi::kOpenMpi, text));
        EXPECT_FALSE(is_version_of(Mpi::kMpich, text));
    }
    EXPECT_TRUE(is_version_of(Mpi::kMpich, "HYDRA build details:\n    Version: 4.0.2\n"));
    EXPECT_FALSE(is_version_of(Mpi::kOpenMpi, "HYDRA build details:\n    Version: 4.0.2\n"));
    EXPECT_FALSE(is_version_of(Mpi::kOpenMpi, ""));
}

TEST(MpiLauncher, RanksAndProgramStandLast) {
    for (const Mpi mpi : {Mpi::kOpenMpi, Mpi::kMpich}) {
        const MpiLaunch launch = mpi_launch(mpi, "/usr/bin/mpirun", 7, {"program", "-n", "1"});
        const std::vector<std::string> last{"-n", "7", "program", "-n", "1"};
        ASSERT_GE(launch.command.size(), last.size());
        EXPECT_EQ(launch.command.front(), "/usr/bin/mpirun");
        EXPECT_TRUE(std::equal(last.rbegin(), last.rend(), launch.command.rbegin()));
        EXPECT_EQ(value_of(launch, "UCX_TLS"), "rc_v,self");
    }
}

}  // namespace
}  // namespace softib::app
