// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MTUs, rates and selectors as SA records encode them (IBA vol. 1, 15.2.5.16). The codes of rates
// are not in the order of the rates.

#include <cstdint>
#include <optional>

#include "core/wire/format/selector.h"
#include "core/wire/sm/port_info.h"

namespace softib::sm {

/// A quantity that SA records encode.
enum class Quantity : std::uint8_t { kMtu, kRate, kLifeTime };

/// Returns the rank of a code among those of its quantity, the lowest value first; -1 if the
/// quantity has no such code.
int rank_of(Quantity quantity, std::uint8_t code);
bool is_valid(Quantity quantity, std::uint8_t code);
std::uint8_t lesser(Quantity quantity, std::uint8_t a, std::uint8_t b);

/// Returns the rate of a code in tenths of a Gb/s; std::nullopt if there is no such code.
std::optional<std::uint32_t> rate_tenths(std::uint8_t code);
/// Returns the code of a rate in tenths of a Gb/s; std::nullopt if it has none.
std::optional<std::uint8_t> rate_code(std::uint32_t tenths);

/// Returns the code of the rate of a port's link; 0 if the link is down.
std::uint8_t rate_of(const wire::PortInfo& port);
/// Returns the code of the MTU of a port's link.
std::uint8_t mtu_of(const wire::PortInfo& port);

/// A value with its selector, as a request may give it. It counts only if the request has both.
struct Wish {
    Quantity quantity{};
    bool given = false;
    wire::Selector selector{};
    std::uint8_t value = 0;

    bool is_legal() const { return !given || is_valid(quantity, value); }
    bool allows(std::uint8_t actual) const;
    /// Returns the best code that the request allows and that is not beyond `most`; std::nullopt if
    /// there is none.
    std::optional<std::uint8_t> realize(std::uint8_t most) const;
};

}  // namespace softib::sm
