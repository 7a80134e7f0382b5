// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a subnet administration MAD has after the common header: the header of the reliable
// multi-packet protocol, the SA header, 200 bytes of records (IBA vol. 1, 13.6.2 and 15.2.1).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "core/wire/bytes.h"
#include "core/wire/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kSaClassVersion = 2;
inline constexpr std::size_t kSaDataOffset = 56;
inline constexpr std::size_t kSaDataBytes = kMadBytes - kSaDataOffset;

enum class SaAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kPathRecord = 0x0035,
    kMcMemberRecord = 0x0038,
};

/// Class-specific part of the status (IBA vol. 1, 15.2.3.2).
namespace sa_status {
inline constexpr std::uint16_t kNoResources = 0x0100;
inline constexpr std::uint16_t kRequestInvalid = 0x0200;
inline constexpr std::uint16_t kNoRecords = 0x0300;
inline constexpr std::uint16_t kTooManyRecords = 0x0400;
inline constexpr std::uint16_t kInvalidGid = 0x0500;
inline constexpr std::uint16_t kInsufficientComponents = 0x0600;
inline constexpr std::uint16_t kRequestDenied = 0x0700;
}  // namespace sa_status

/// A view of the SA part of a MAD. Byte: std::uint8_t, or const for one that only reads.
template <typename Byte>
class Sa {
  public:
    static std::optional<Sa> checked(std::span<Byte> mad) {
        if (mad.size() != kMadBytes) {
            return std::nullopt;
        }
        return Sa(mad.data());
    }
    explicit Sa(MadBytes& mad)
        requires(!std::is_const_v<Byte>)
        : at_(mad.data()) {}
    explicit Sa(const MadBytes& mad)
        requires std::is_const_v<Byte>
        : at_(mad.data()) {}

    std::uint8_t rmpp_version() const { return at_[24]; }
    std::uint8_t rmpp_type() const { return at_[25]; }
    std::uint8_t rmpp_resp_time() const { return at_[26] >> 3; }
    std::uint8_t rmpp_flags() const { return at_[26] & 7; }
    std::uint8_t rmpp_status() const { return at_[27]; }
    std::uint32_t segment_number() const { return load_be<std::uint32_t>(at_ + 28); }
    std::uint32_t payload_length() const { return load_be<std::uint32_t>(at_ + 32); }
    std::uint64_t sm_key() const { return load_be<std::uint64_t>(at_ + 36); }
    std::uint16_t attribute_offset() const { return load_be<std::uint16_t>(at_ + 44); }
    std::uint64_t component_mask() const { return load_be<std::uint64_t>(at_ + 48); }
    std::span<Byte, kSaDataBytes> data() const {
        return std::span<Byte, kSaDataBytes>(at_ + kSaDataOffset, kSaDataBytes);
    }

    // clang-format off
    void set_rmpp_version(std::uint8_t v) const { at_[24] = v; }
    void set_rmpp_type(std::uint8_t v) const { at_[25] = v; }
    void set_rmpp_resp_time(std::uint8_t v) const { at_[26] = static_cast<std::uint8_t>(v << 3 | (at_[26] & 7)); }
    void set_rmpp_flags(std::uint8_t v) const { at_[26] = static_cast<std::uint8_t>((at_[26] & 0xF8) | (v & 7)); }
    void set_rmpp_status(std::uint8_t v) const { at_[27] = v; }
    void set_segment_number(std::uint32_t v) const { store_be(at_ + 28, v); }
    void set_payload_length(std::uint32_t v) const { store_be(at_ + 32, v); }
    void set_sm_key(std::uint64_t v) const { store_be(at_ + 36, v); }
    void set_attribute_offset(std::uint16_t v) const { store_be(at_ + 44, v); }
    void set_component_mask(std::uint64_t v) const { store_be(at_ + 48, v); }
    // clang-format on

  private:
    explicit Sa(Byte* at) : at_(at) {}
    Byte* at_;
};

struct SaRepr {
    std::uint8_t rmpp_version = 0;
    std::uint8_t rmpp_type = 0;
    std::uint8_t rmpp_resp_time = 0;  ///< 5 bits.
    std::uint8_t rmpp_flags = 0;      ///< 3 bits.
    std::uint8_t rmpp_status = 0;
    std::uint32_t segment_number = 0;
    std::uint32_t payload_length = 0;
    std::uint64_t sm_key = 0;
    std::uint16_t attribute_offset = 0;  ///< Distance of two records, in units of 8 bytes.
    std::uint64_t component_mask = 0;

    static SaRepr parse(const Sa<const std::uint8_t>& sa);
    void emit(const Sa<std::uint8_t>& sa) const;
    friend bool operator==(const SaRepr&, const SaRepr&) = default;
};

/// "rmpp v0 type 0 flags 0x0 status 0 segment 0 length 0 sm_key 0x0 offset 0 mask 0x0"
std::string to_string(const SaRepr& repr);

}  // namespace softib::wire
