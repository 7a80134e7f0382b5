// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The header common to all management datagrams (IBA vol. 1, 13.4.2). A MAD always has 256 bytes.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "core/wire/format/bytes.h"

namespace softib::wire {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kMadHeaderBytes = 24;
inline constexpr std::uint8_t kMadBaseVersion = 1;

using MadBytes = std::array<std::uint8_t, kMadBytes>;

enum class MgmtClass : std::uint8_t {
    kSubnLidRouted = 0x01,
    kSubnAdm = 0x03,
    kPerf = 0x04,
    kBaseboard = 0x05,
    kDeviceMgmt = 0x06,
    kCommMgmt = 0x07,
    kSharp = 0x0B,  ///< Aggregation management.
    kCongestion = 0x21,
    kSubnDirectedRoute = 0x81,
};

enum class Method : std::uint8_t {
    kGet = 0x01,
    kSet = 0x02,
    kSend = 0x03,
    kTrap = 0x05,
    kReport = 0x06,
    kTrapRepress = 0x07,
    kGetTable = 0x12,
    kGetTraceTable = 0x13,
    kGetMulti = 0x14,
    kDelete = 0x15,
    kGetResp = 0x81,
    kReportResp = 0x86,
    kGetTableResp = 0x92,
    kGetMultiResp = 0x94,
    kDeleteResp = 0x95,
};

inline constexpr std::uint8_t kMethodResponseBit = 0x80;

/// Returns the method of the response to a request: GetResp for Set; for any other one, its own
/// number with the R bit (IBA vol. 1, 13.4.5).
constexpr Method response_to(Method request) {
    if (request == Method::kSet) {
        return Method::kGetResp;
    }
    return static_cast<Method>(static_cast<std::uint8_t>(request) | kMethodResponseBit);
}

/// Returns whether the sender of a MAD waits for a response: not for a response, a Send, a Trap or
/// a TrapRepress.
constexpr bool wants_response(Method method) {
    return (static_cast<std::uint8_t>(method) & kMethodResponseBit) == 0 &&
           method != Method::kSend && method != Method::kTrap && method != Method::kTrapRepress;
}

/// The common part of MADHeader.Status (IBA vol. 1, 13.4.7). The upper byte is specific to the
/// class.
namespace mad_status {
inline constexpr std::uint16_t kOk = 0x0000;
inline constexpr std::uint16_t kBusy = 0x0001;
inline constexpr std::uint16_t kRedirectionRequired = 0x0002;
inline constexpr std::uint16_t kUnsupportedClass = 0x0004;  ///< Also: base or class version.
inline constexpr std::uint16_t kUnsupportedMethod = 0x0008;
inline constexpr std::uint16_t kUnsupportedAttribute = 0x000C;
inline constexpr std::uint16_t kInvalidField = 0x001C;
inline constexpr std::uint16_t kDirection = 0x8000;  ///< The D bit of directed routes: returning.
}  // namespace mad_status

/// A view of the header. Byte is std::uint8_t, or const std::uint8_t for a read-only view.
template <typename Byte>
class Mad {
  public:
    static std::optional<Mad> checked(std::span<Byte> bytes) {
        if (bytes.size() != kMadBytes) {
            return std::nullopt;
        }
        return Mad(bytes.data());
    }
    explicit Mad(MadBytes& bytes)
        requires(!std::is_const_v<Byte>)
        : at_(bytes.data()) {}
    explicit Mad(const MadBytes& bytes)
        requires std::is_const_v<Byte>
        : at_(bytes.data()) {}

    std::uint8_t base_version() const { return at_[0]; }
    MgmtClass mgmt_class() const { return static_cast<MgmtClass>(at_[1]); }
    std::uint8_t class_version() const { return at_[2]; }
    Method method() const { return static_cast<Method>(at_[3]); }
    std::uint16_t status() const { return load_be<std::uint16_t>(at_ + 4); }
    std::uint16_t class_specific() const { return load_be<std::uint16_t>(at_ + 6); }
    std::uint64_t transaction_id() const { return load_be<std::uint64_t>(at_ + 8); }
    std::uint16_t attribute_id() const { return load_be<std::uint16_t>(at_ + 16); }
    std::uint32_t attribute_modifier() const { return load_be<std::uint32_t>(at_ + 20); }

    // clang-format off
    void set_base_version(std::uint8_t v) const { at_[0] = v; }
    void set_mgmt_class(MgmtClass v) const { at_[1] = static_cast<std::uint8_t>(v); }
    void set_class_version(std::uint8_t v) const { at_[2] = v; }
    void set_method(Method v) const { at_[3] = static_cast<std::uint8_t>(v); }
    void set_status(std::uint16_t v) const { store_be(at_ + 4, v); }
    void set_class_specific(std::uint16_t v) const { store_be(at_ + 6, v); }
    void set_transaction_id(std::uint64_t v) const { store_be(at_ + 8, v); }
    void set_attribute_id(std::uint16_t v) const { store_be(at_ + 16, v); }
    void set_attribute_modifier(std::uint32_t v) const { store_be(at_ + 20, v); }
    // clang-format on

  private:
    explicit Mad(Byte* at) : at_(at) {}
    Byte* at_;
};

struct MadRepr {
    std::uint8_t base_version = kMadBaseVersion;
    MgmtClass mgmt_class{};
    std::uint8_t class_version = 1;
    Method method{};
    std::uint16_t status = 0;
    std::uint16_t class_specific = 0;
    std::uint64_t transaction_id = 0;
    std::uint16_t attribute_id = 0;
    std::uint32_t attribute_modifier = 0;

    static MadRepr parse(const Mad<const std::uint8_t>& mad);
    void emit(const Mad<std::uint8_t>& mad) const;
    friend bool operator==(const MadRepr&, const MadRepr&) = default;
};

/// Returns a line such as
/// "class 0x03 v2 method 0x02 attr 0x0038 mod 0x00000000 tid 0x0000000012345678 status 0x0000".
std::string to_string(const MadRepr& repr);

/// Returns the response to a request that consists of the request itself with this status.
MadBytes respond_with_status(const MadBytes& request, std::uint16_t status);

}  // namespace softib::wire
