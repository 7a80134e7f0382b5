// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet manager of a fabric, as the daemon tells of it.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "runtime/shm/requests.h"

namespace softib::view {

/// Our own manager, where it runs.
struct OurManager {
    std::string state;
    Lid lid{};
    Guid guid{};
    std::uint8_t priority = 0;
    std::string engine;
    std::string routes;  ///< What it makes of them, in words.
    std::uint64_t adaptive_groups = 0;
    std::uint64_t nodes = 0;
    std::uint64_t full_sweeps = 0;
    std::uint64_t partial_sweeps = 0;
    std::uint64_t smps = 0;
    std::uint64_t lft_blocks = 0;
    std::uint64_t others = 0;  ///< Managers that it knows of.
};

struct Manager {
    std::string master;  ///< "opensm (pid 12) on h0/mlx5_0, LID 1"; empty: the ports know of none.
    std::optional<OurManager> ours;
};

/// Asks the daemon for something over a connection, and how the manager is afterwards. The error is
/// an errno value.
std::expected<Manager, int> ask_manager(int daemon, live::ManagerCommand command);

}  // namespace softib::view
