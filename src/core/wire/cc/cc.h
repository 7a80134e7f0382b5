// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The congestion control class (IBA vol. 1, annex A10): the places of its parts in a MAD, and its
// attributes. The format of each attribute has a file of its own. Where public sources differ in a
// layout, this is the one that ibccquery reads.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "core/wire/format/bytes.h"
#include "core/wire/mad/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kCcClassVersion = 2;
inline constexpr std::size_t kCcKeyOffset = 24;
/// The place of CongestionLog; all other attributes begin at kCcDataOffset.
inline constexpr std::size_t kCcLogOffset = 32;
inline constexpr std::size_t kCcLogBytes = kMadBytes - kCcLogOffset;
inline constexpr std::size_t kCcDataOffset = 64;
inline constexpr std::size_t kCcDataBytes = kMadBytes - kCcDataOffset;

enum class CcAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kNotice = 0x0002,
    kCongestionInfo = 0x0011,
    kCongestionKeyInfo = 0x0012,
    kCongestionLog = 0x0013,
    kSwitchCongestionSetting = 0x0014,
    kSwitchPortCongestionSetting = 0x0015,
    kCaCongestionSetting = 0x0016,
    kCongestionControlTable = 0x0017,
    kTimestamp = 0x0018,
};

/// A view of the fields of the class after the common header. Byte is std::uint8_t, or const
/// std::uint8_t for a read-only view.
template <typename Byte>
class Cc {
  public:
    static std::optional<Cc> checked(std::span<Byte> mad) {
        if (mad.size() != kMadBytes) {
            return std::nullopt;
        }
        return Cc(mad.data());
    }
    explicit Cc(MadBytes& mad)
        requires(!std::is_const_v<Byte>)
        : at_(mad.data()) {}
    explicit Cc(const MadBytes& mad)
        requires std::is_const_v<Byte>
        : at_(mad.data()) {}

    std::uint64_t cc_key() const { return load_be<std::uint64_t>(at_ + kCcKeyOffset); }
    std::span<Byte, kCcLogBytes> log() const {
        return std::span<Byte, kCcLogBytes>(at_ + kCcLogOffset, kCcLogBytes);
    }
    std::span<Byte, kCcDataBytes> data() const {
        return std::span<Byte, kCcDataBytes>(at_ + kCcDataOffset, kCcDataBytes);
    }
    void set_cc_key(std::uint64_t v) const { store_be(at_ + kCcKeyOffset, v); }

  private:
    explicit Cc(Byte* at) : at_(at) {}
    Byte* at_;
};

}  // namespace softib::wire
