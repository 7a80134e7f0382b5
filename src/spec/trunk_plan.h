// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where a fabric's trunks run, as its user says: "sw0=10.0.0.1:7000,10.0.0.2:7000" is one from
// switch sw0 between two addresses, ours first. Packets take the port that is named, management
// takes the next one. Several are separated by spaces.

#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/siphash.h"

namespace softib::spec {

struct TrunkPlan {
    std::string at_switch;
    std::string local_ip;
    std::uint16_t local_port = 0;
    std::string peer_ip;
    std::uint16_t peer_port = 0;
};

std::expected<std::vector<TrunkPlan>, std::string> parse_trunks(std::string_view text);

/// A file with 32 hexadecimal digits that nobody else may read.
std::expected<SipKey, std::string> read_trunk_key(const std::string& file);

/// A fabric's trunks with what its processes need to run them.
struct Trunks {
    std::vector<TrunkPlan> plans;
    SipKey key{};
};

}  // namespace softib::spec
