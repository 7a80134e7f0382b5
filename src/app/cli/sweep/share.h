// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The part of a sweep that this process simulates, if several processes share the sweep: those of
// an mpirun or srun, the tasks of a batch system's array job, or both.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

namespace softib::app::sweep {

struct Share {
    std::uint32_t index = 0;  ///< This part, from 0 on.
    std::uint32_t count = 1;  ///< How many parts there are.
    bool launched = false;    ///< Whether a launcher (mpirun, srun) starts a process for each core.

    bool has(std::uint64_t point) const { return point % count == index; }
};

/// Returns the value of an environment variable, or nullptr.
using Variable = std::function<const char*(const char* name)>;

/// Returns the part that this process has: `part` ("2/8") if it is not empty, else the one that
/// the environment tells. The error is for the user.
std::expected<Share, std::string> find_share(const std::string& part, const Variable& variable);

}  // namespace softib::app::sweep
