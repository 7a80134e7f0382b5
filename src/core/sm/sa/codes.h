// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MTUs, rates and selectors as SA records write them (IBA vol. 1, 15.2.5.16). Codes of rates are
// not in the order of the rates.

#include <cstdint>
#include <optional>

#include "core/wire/port_info.h"
#include "core/wire/selector.h"

namespace softib::sm {

/// Which of two codes is more: by rank. Kinds that have no such code have rank -1 for it.
enum class Quantity : std::uint8_t { kMtu, kRate, kLifeTime };

int rank_of(Quantity quantity, std::uint8_t code);
bool is_valid(Quantity quantity, std::uint8_t code);
std::uint8_t lesser(Quantity quantity, std::uint8_t a, std::uint8_t b);

/// What an active link carries: the rate's code, 0 for a link that is down.
std::uint8_t rate_of(const wire::PortInfo& port);
/// The largest packet over the port's link.
std::uint8_t mtu_of(const wire::PortInfo& port);

/// A value with its selector, if a request has both; one alone says nothing.
struct Wish {
    Quantity quantity{};
    bool given = false;
    wire::Selector selector{};
    std::uint8_t value = 0;

    bool is_legal() const { return !given || is_valid(quantity, value); }
    bool allows(std::uint8_t actual) const;
    /// The best code that is allowed and not beyond `most`.
    std::optional<std::uint8_t> realize(std::uint8_t most) const;
};

}  // namespace softib::sm
