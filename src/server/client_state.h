// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What clients of UFM's interface asked for and expect to last: their partitions, and the ports
// that they isolated. It is kept in a file beside the history, and outlives the server and the
// daemon: a fabric that is started again gets it again.

#include <cstdint>
#include <map>
#include <string>

namespace softib::server {

struct ClientState {
    std::string partitions;  ///< The clients' part of partitions.conf.
    /// Isolated ports by name (GUID_N), with the time of isolation in us since 1970.
    std::map<std::string, std::int64_t> unhealthy{};

    bool operator==(const ClientState&) const = default;
};

/// Returns the state in the file; an empty one if there is no file, or it is damaged.
ClientState load_client_state(const std::string& path);
/// Replaces the file atomically. Returns false if that fails. Does nothing and returns true if
/// `path` is empty.
bool save_client_state(const std::string& path, const ClientState& state);

}  // namespace softib::server
