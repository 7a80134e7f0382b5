// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The body of a packet, from the BTH to the ICRC: BTH, extended headers, payload and padding. On
// InfiniBand it follows the LRH or GRH, in RoCEv2 the UDP header.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "core/wire/packet/opcode.h"
#include "core/wire/packet/packet.h"

namespace softib::wire {

inline constexpr std::size_t kWordBytes = 4;

/// Calls do_one(name, header) for the extended headers in `bits`, in the order of the wire.
template <typename Headers, typename F>
void for_each_extended(Headers& headers, std::uint16_t bits, F do_one) {
    const auto look = [&](std::uint16_t bit, std::string_view name, auto& header) {
        if ((bits & bit) != 0) {
            do_one(name, header);
        }
    };
    look(extended::kRdeth, "RDETH", headers.rdeth);
    look(extended::kXrcEth, "XRCETH", headers.xrc_eth);
    look(extended::kDeth, "DETH", headers.deth);
    look(extended::kReth, "RETH", headers.reth);
    look(extended::kAtomicEth, "AtomicETH", headers.atomic_eth);
    look(extended::kAeth, "AETH", headers.aeth);
    look(extended::kAtomicAckEth, "AtomicAckETH", headers.atomic_ack_eth);
    look(extended::kImmDt, "ImmDt", headers.imm_dt);
    look(extended::kIeth, "IETH", headers.ieth);
}

/// Parses a header and removes it from `left`. The caller has checked that there are enough bytes.
template <Attribute T>
T take(std::span<const std::uint8_t>& left) {
    const T value = parse<T>(left.first<T::kBytes>());
    left = left.subspan(T::kBytes);
    return value;
}

template <Attribute T>
void put(const T& value, std::span<std::uint8_t>& left) {
    emit(value, left.first<T::kBytes>());
    left = left.subspan(T::kBytes);
}

/// Parses transport headers and payload: `left` has at least a BTH and ends before the ICRC.
std::expected<void, PacketError> parse_body(std::span<const std::uint8_t> left, Packet& packet);

/// Returns how many bytes emit_body writes, or why there is no such packet.
std::expected<std::size_t, PacketError> body_bytes(const PacketHeaders& headers,
                                                   std::size_t payload_bytes);

/// Writes the body of a packet that body_bytes accepts. `payload` may be in its place in `out`
/// already.
void emit_body(const PacketHeaders& headers, std::span<const std::uint8_t> payload,
               std::span<std::uint8_t> out);

}  // namespace softib::wire
