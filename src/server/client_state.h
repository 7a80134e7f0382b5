// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What clients of UFM's interface asked for and expect to last: their partitions, and the ports
// that they isolated. It stands in a file beside the history, and outlives the server and the
// daemon: a fabric that comes back gets it again.

#include <cstdint>
#include <map>
#include <string>

namespace softib::server {

struct ClientState {
    std::string partitions;                           ///< The clients' part of partitions.conf.
    std::map<std::string, std::int64_t> unhealthy{};  ///< By name (GUID_N): since when, in us.

    bool operator==(const ClientState&) const = default;
};

/// Returns what the file has; nothing if there is none, or it is damaged.
ClientState load_client_state(const std::string& path);
/// Replaces the file at once. Returns false if that fails. Without a path there is nothing to do.
bool save_client_state(const std::string& path, const ClientState& state);

}  // namespace softib::server
