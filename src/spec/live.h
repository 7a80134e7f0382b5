// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What is accepted acts: which keys of a description change nothing of a running fabric, or of a
// drawing, beside the other keys that were given.

#include <cstdint>

#include "spec/description.h"

namespace softib::spec {

/// Data VLs of every port of a running fabric.
inline constexpr std::uint8_t kLiveVls = 8;

/// Refuses a key that would change nothing of a running fabric beside the others: "--lmc changes
/// nothing here: it needs ...".
Result check_live(const Description& description);

/// What a drawing of a fabric tells beside its shape.
struct Drawing {
    bool names = true;   ///< The names of hosts and devices.
    bool guids = false;  ///< The GUIDs of nodes.
    bool lids = false;   ///< How many LIDs there are.
};
/// Refuses a flag that changes nothing of a drawing. Keys of a file are not refused, since a file
/// describes what runs too.
Result check_drawn(const Description& description, const Drawing& drawing);

}  // namespace softib::spec
