// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet manager of a fabric, as the daemon reports it.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "runtime/shm/requests.h"

namespace softib::view {

/// softib's own subnet manager, which the daemon runs.
struct OurManager {
    std::string state;
    Lid lid{};
    Guid guid{};
    std::uint8_t priority = 0;
    std::string engine;
    std::string routes;  ///< The kind of routes that it makes, in words.
    std::uint64_t adaptive_groups = 0;
    std::uint64_t nodes = 0;
    std::uint64_t full_sweeps = 0;
    std::uint64_t partial_sweeps = 0;
    std::uint64_t smps = 0;
    std::uint64_t lft_blocks = 0;
    std::uint64_t others = 0;  ///< Other subnet managers that it knows of.
};

struct Manager {
    /// The master SM: "opensm (pid 12) on h0/mlx5_0, LID 1". Empty if the ports know of none.
    std::string master;
    std::optional<OurManager> ours;  ///< std::nullopt: the daemon runs no subnet manager.
};

/// Has the daemon, over a connection, carry out a command of `softib sm`. Returns the state of the
/// manager afterwards; the error is an errno value.
std::expected<Manager, int> ask_manager(int daemon, shm::ManagerCommand command);

}  // namespace softib::view
