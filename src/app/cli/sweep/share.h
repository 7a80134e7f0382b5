// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Which part of a sweep this process has, where several share it: processes of an mpirun or srun,
// tasks of a batch system's array job, or both.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

namespace softib::app::sweep {

struct Share {
    std::uint32_t index = 0;  ///< From 0 on.
    std::uint32_t count = 1;
    bool launched = false;  ///< By a launcher that starts a process for each core.

    bool has(std::uint64_t point) const { return point % count == index; }
};

/// The value of a variable of the environment, or nullptr.
using Variable = std::function<const char*(const char* name)>;

/// `part`: "2/8" as the user says it, or nothing; then the environment says it. The error is for
/// the user.
std::expected<Share, std::string> find_share(const std::string& part, const Variable& variable);

}  // namespace softib::app::sweep
