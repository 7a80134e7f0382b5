// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Entries for those who take bytes from others and keep state: each input is a conversation.

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Segments, ACKs and ends of transfers: it never holds or delivers more than its limits say, and
/// forgets everything in time.
bool rmpp_endpoint_holds(std::span<const std::uint8_t> input);
/// Requests to the administration: an answer is an answer to what was asked.
bool subnet_admin_holds(std::span<const std::uint8_t> input);
/// Packets to the agents of a small fabric: none gives more than one back, and without the keys
/// nothing changes.
bool node_agents_hold(std::span<const std::uint8_t> input);
/// What reads as a netlist is a sound fabric, and reads the same when written.
bool netlist_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
