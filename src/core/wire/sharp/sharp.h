// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation management class (0x0B), by which an aggregation manager configures the
// aggregation nodes of switches (SHARP): the places of its parts in a MAD, and its attributes. The
// format of each attribute has a file of its own. ADR 25 says which fields are published and which
// softib defines.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/wire/format/bytes.h"
#include "core/wire/mad/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kSharpClassVersion = 2;
inline constexpr std::size_t kSharpKeyOffset = 24;
inline constexpr std::size_t kSharpDataOffset = 64;
inline constexpr std::size_t kSharpDataBytes = kMadBytes - kSharpDataOffset;

enum class SharpAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kAmKeyInfo = 0x0010,  ///< Number and format are defined by softib.
    kAnInfo = 0x0020,
    kQpAllocation = 0x0021,
    kQpcConfig = 0x0022,
    kTreeConfig = 0x0023,
    kQuotaConfig = 0x0024,
    kGroupJoin = 0x0030,  ///< The number is defined by softib.
    kJob = 0x0031,        ///< Number and format are defined by softib.
    kResourceCleanup = 0x0040,
    kPerformanceCounters = 0x0050,
};

/// The class-specific part of MADHeader.Status.
namespace sharp_status {
inline constexpr std::uint16_t kNoResource = 0x0100;  ///< A table of the node is full.
inline constexpr std::uint16_t kLocked = 0x0200;      ///< Another group has the streaming lock.
inline constexpr std::uint16_t kBadKey = 0x0300;      ///< The AM_Key is not the node's.
}  // namespace sharp_status

/// Returns the offset of a field in a dword. `high` is the number of its highest bit, where the
/// lowest bit of the dword is 0.
consteval std::size_t sharp_bit(std::size_t dword, std::size_t high) {
    return dword * 32 + 31 - high;
}

/// A view of the fields of the class after the common header. Byte is std::uint8_t, or const
/// std::uint8_t for a read-only view.
template <typename Byte>
class Sharp {
  public:
    explicit Sharp(MadBytes& mad)
        requires(!std::is_const_v<Byte>)
        : at_(mad.data()) {}
    explicit Sharp(const MadBytes& mad)
        requires std::is_const_v<Byte>
        : at_(mad.data()) {}

    std::uint64_t am_key() const { return load_be<std::uint64_t>(at_ + kSharpKeyOffset); }
    std::span<Byte, kSharpDataBytes> data() const {
        return std::span<Byte, kSharpDataBytes>(at_ + kSharpDataOffset, kSharpDataBytes);
    }
    void set_am_key(std::uint64_t v) const { store_be(at_ + kSharpKeyOffset, v); }

  private:
    Byte* at_;
};

}  // namespace softib::wire
