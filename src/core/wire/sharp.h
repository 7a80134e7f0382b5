// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation management class (0x0B), by which an aggregation manager configures the switches
// that reduce: where its parts stand and its attributes, each of which has a header of its own.
// ADR 25 says which fields of them are published and which are ours.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/wire/bytes.h"
#include "core/wire/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kSharpClassVersion = 2;
inline constexpr std::size_t kSharpKeyOffset = 24;
inline constexpr std::size_t kSharpDataOffset = 64;
inline constexpr std::size_t kSharpDataBytes = kMadBytes - kSharpDataOffset;

enum class SharpAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kAmKeyInfo = 0x0010,  ///< The number is ours, as is SharpAmKeyInfo.
    kAnInfo = 0x0020,
    kQpAllocation = 0x0021,
    kQpcConfig = 0x0022,
    kTreeConfig = 0x0023,
    kQuotaConfig = 0x0024,
    kGroupJoin = 0x0030,  ///< The number is ours.
    kJob = 0x0031,        ///< The same, as is SharpJob.
    kResourceCleanup = 0x0040,
    kPerformanceCounters = 0x0050,
};

/// The class's own part of MADHeader.Status.
namespace sharp_status {
inline constexpr std::uint16_t kNoResource = 0x0100;  ///< A table of the node is full.
inline constexpr std::uint16_t kLocked = 0x0200;      ///< Another group streams through a port.
inline constexpr std::uint16_t kBadKey = 0x0300;      ///< The AM_Key is not the node's.
}  // namespace sharp_status

/// Returns the offset of a field whose highest bit is `high`, counted from the lowest of a dword.
consteval std::size_t sharp_bit(std::size_t dword, std::size_t high) {
    return dword * 32 + 31 - high;
}

/// A view of the class's own part. Byte: std::uint8_t, or const for one that only reads.
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
