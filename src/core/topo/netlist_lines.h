// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The grammar of netlists, one line at a time. Internal to this folder; netlist_read.cc makes a
// fabric of the lines. Views point into the line.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/topo/fabric.h"

namespace softib::topo::netlist {

/// What a port can run at, or ran at when it was dumped.
struct LinkMask {
    std::uint16_t speeds = 0;  ///< Bit i stands for kGenerations[i].
    std::uint8_t widths = 0;   ///< Bits of Width.
};
/// Set beside all others where ibnetdiscover did not know ("4x???"): says nothing, hinders nothing.
inline constexpr std::uint16_t kSpeedUnknown = 0x8000;
inline constexpr std::uint8_t kWidthUnknown = 0x80;

/// ibsim's encodings: `s` has SDR, DDR and QDR from bit 0 on, `e` has FDR, EDR, HDR and NDR.
std::uint16_t speeds_of(std::uint32_t s, std::uint32_t e);

/// Comment, empty, or a heading of a dump by chassis.
struct IgnoredLine {};

/// No line of a netlist: what a terminal showed before, behind and between.
struct ForeignLine {};

/// `Switch 36 "id"  # "description" enhanced port 0 lid 4 lmc 0`
struct NodeLine {
    NodeKind kind = NodeKind::kSwitch;
    std::uint8_t ports = 0;
    std::string_view id = {};
    std::string_view description = {};
    bool enhanced_port_0 = false;
    Lid lid = {};
    std::uint8_t lmc = 0;
};

/// `[1](guid) "peer"[2]  w=2 s=7  # lid 3 lmc 0 "description" lid 4 4xHDR`
struct PortLine {
    std::uint8_t port = 0;
    Guid guid;  ///< 0: not said.
    std::string_view peer;
    std::uint8_t peer_port = 1;
    std::optional<std::uint8_t> w;
    std::optional<std::uint8_t> s;
    std::optional<std::uint8_t> e;
    std::optional<LinkMask> dumped;  ///< From the comment; goes before the options.
    Lid lid;                         ///< The port's own; only HCAs and routers say it.
    std::uint8_t lmc = 0;
};

enum class Setting : std::uint8_t {
    kVendor,
    kDevice,
    kSystemImage,
    kSwitchGuid,
    kHcaGuid,
    kRouterGuid,
    kWidth,
    kSpeed,
    kSpeedExtended,
    kModule,
};

/// `vendid=0x2c9`
struct SettingLine {
    Setting setting{};
    std::uint64_t value = 0;
    bool relative = false;       ///< `switchguid+3`: counted from the last `=`.
    Guid port_guid = {};         ///< The second one of `switchguid=0x1234(1234)`.
    std::string_view text = {};  ///< The name of a module.
};

using Line = std::variant<IgnoredLine, ForeignLine, NodeLine, PortLine, SettingLine>;

/// The error says what is wrong and what to do, but not where.
std::expected<Line, std::string> parse_line(std::string_view line);

/// The GUID in an id that ibnetdiscover made: "H-0002c90300005678".
std::optional<Guid> guid_in_id(std::string_view id);

/// A piece of input for an error message: short and printable.
std::string shown(std::string_view text);

}  // namespace softib::topo::netlist
