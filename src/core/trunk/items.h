// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The body of a trunk's datagram: packets, one after the other, each after two bytes that hold its
// length.

#include <cstdint>
#include <span>

#include "core/wire/format/bytes.h"

namespace softib::trunk {

inline constexpr std::size_t kItemHeaderBytes = 2;

inline void put_item_length(std::uint8_t* at, std::size_t bytes) {
    wire::store_be(at, static_cast<std::uint16_t>(bytes));
}

/// Calls visit(bytes) for each packet of a body. Returns false if the body ends within a length or
/// a packet, or if a packet is empty; visit() was called for the packets before it.
bool for_each_item(std::span<const std::uint8_t> body, auto visit) {
    while (!body.empty()) {
        if (body.size() < kItemHeaderBytes) {
            return false;
        }
        const std::size_t bytes = wire::load_be<std::uint16_t>(body.data());
        if (bytes == 0 || bytes > body.size() - kItemHeaderBytes) {
            return false;
        }
        visit(body.subspan(kItemHeaderBytes, bytes));
        body = body.subspan(kItemHeaderBytes + bytes);
    }
    return true;
}

}  // namespace softib::trunk
