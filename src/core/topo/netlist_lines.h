// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The grammar of netlists, one line at a time. Internal to this folder; netlist_read.cc makes a
// fabric from the lines. The string views of a parsed line point into its text.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/topo/graph.h"

namespace softib::topo::netlist {

/// The speeds and widths that a port supports, or had when it was dumped.
struct LinkMask {
    std::uint16_t speeds = 0;  ///< Bit i stands for kGenerations[i].
    std::uint8_t widths = 0;   ///< Bits of Width.
};
/// The bit that is set, together with all others, if ibnetdiscover did not know a speed ("4x???"):
/// the port then accepts any speed.
inline constexpr std::uint16_t kSpeedUnknown = 0x8000;
/// The bit that is set, together with all others, if ibnetdiscover did not know a width.
inline constexpr std::uint8_t kWidthUnknown = 0x80;

/// Returns the bits of LinkMask::speeds for ibsim's options: from bit 0 on, `s` has SDR, DDR and
/// QDR, and `e` has FDR, EDR, HDR and NDR.
std::uint16_t speeds_of(std::uint32_t s, std::uint32_t e);

/// A line without content: a comment, an empty line, or a heading of a dump by chassis.
struct IgnoredLine {};

/// A line that does not belong to a netlist: other output of the terminal.
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
    Guid guid;  ///< The GUID of the port; 0: not given.
    std::string_view peer;
    std::uint8_t peer_port = 1;
    std::optional<std::uint8_t> w;
    std::optional<std::uint8_t> s;
    std::optional<std::uint8_t> e;
    std::optional<LinkMask> dumped;  ///< From the comment; takes precedence over the options.
    Lid lid;                         ///< The LID of the port, given for HCAs and routers only.
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
    bool relative = false;       ///< `switchguid+3`: relative to the value of the last `=`.
    Guid port_guid = {};         ///< The second GUID in `switchguid=0x1234(1234)`.
    std::string_view text = {};  ///< The name of a module.
};

using Line = std::variant<IgnoredLine, ForeignLine, NodeLine, PortLine, SettingLine>;

/// Parses a line. The error says what is wrong and what to do, but not in which line.
std::expected<Line, std::string> parse_line(std::string_view line);

/// Returns the GUID in an id that ibnetdiscover made, such as "H-0002c90300005678"; std::nullopt if
/// it is another id.
std::optional<Guid> guid_in_id(std::string_view id);

/// Returns a piece of input for an error message, shortened and with printable characters only.
std::string shown(std::string_view text);

}  // namespace softib::topo::netlist
