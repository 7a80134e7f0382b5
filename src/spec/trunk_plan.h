// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The addresses of a fabric's trunks, as its user gives them: "sw0=10.0.0.1:7000,10.0.0.2:7000" is
// a trunk at switch sw0 between two UDP addresses, ours first. Packets go to the port that is
// named, management to the next one. Several trunks are separated by spaces.

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

/// Reads a key of 32 hexadecimal digits from a file that only its owner may read.
std::expected<SipKey, std::string> read_trunk_key(const std::string& file);

/// The trunks of a fabric, with the key that its processes need to run them.
struct Trunks {
    std::vector<TrunkPlan> plans;
    SipKey key{};
};

}  // namespace softib::spec
