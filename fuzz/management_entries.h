// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Entries for parts of the management plane that take bytes from others and keep state. Each input
// is a conversation of several MADs.

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Gives segments, ACKs and aborts to an RMPP endpoint. Returns whether it never kept or delivered
/// more than its limits allow, and forgot everything in the end.
bool rmpp_endpoint_holds(std::span<const std::uint8_t> input);
/// Gives requests to the SA. Returns whether each response matches its request, and the SA's
/// snapshot can be restored by another SA.
bool subnet_admin_holds(std::span<const std::uint8_t> input);
/// Gives MADs to the agents of a small fabric. Returns whether each led to at most one delivery,
/// and no PortInfo changed without the M_Key.
bool node_agents_hold(std::span<const std::uint8_t> input);
/// Reads bytes as a netlist. Returns whether they are refused with a message, or are a valid fabric
/// that is the same after it is written and read again.
bool netlist_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
