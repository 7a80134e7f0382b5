// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/netlist_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace softib::topo::netlist {

namespace {

constexpr std::size_t kIdBytesMax = 64;           // As in ibsim.
constexpr std::size_t kDescriptionBytesMax = 64;  // IBA vol. 1, 14.2.5.2.
constexpr std::size_t kModuleBytesMax = 20;       // As in ibsim.
constexpr std::uint64_t kPortsMax = 254;
constexpr std::size_t kShownBytesMax = 40;

using Failure = std::unexpected<std::string>;

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::optional<std::uint64_t> parse_digits(std::string_view text, int base) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number, base);
    return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

/// Returns the value of a number such as "0x2c9" or "713"; std::nullopt if it is none.
std::optional<std::uint64_t> parse_number(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        return parse_digits(text.substr(2), 16);
    }
    return parse_digits(text, 10);
}

/// The rest of a line, from which pieces are taken at the front.
class Cursor {
  public:
    explicit Cursor(std::string_view text) : rest_(text) {}

    std::string_view rest() const { return rest_; }

    void skip_space() {
        while (!rest_.empty() && is_space(rest_.front())) {
            rest_.remove_prefix(1);
        }
    }

    bool take(std::string_view text) {
        if (!rest_.starts_with(text)) {
            return false;
        }
        rest_.remove_prefix(text.size());
        return true;
    }

    template <typename Predicate>
    std::string_view take_while(Predicate predicate) {
        const auto* const end = std::ranges::find_if_not(rest_, predicate);
        const std::string_view taken =
            rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
        rest_.remove_prefix(taken.size());
        return taken;
    }

    /// Takes the text up to the closing mark, and the mark. Returns std::nullopt if there is no
    /// mark.
    std::optional<std::string_view> take_until(char mark) {
        const std::size_t end = rest_.find(mark);
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        const std::string_view taken = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return taken;
    }

    std::string_view take_word() {
        skip_space();
        return take_while([](char c) { return !is_space(c); });
    }

  private:
    std::string_view rest_;
};

// ---- Pieces that several kinds of lines have ----

std::expected<std::string_view, std::string> take_id(Cursor& cursor) {
    cursor.skip_space();
    std::optional<std::string_view> id;
    if (cursor.take("\"")) {
        id = cursor.take_until('"');
    }
    if (!id || id->empty()) {
        return Failure(
            fmt::format("expected the id of a node in quotes, not '{}'", shown(cursor.rest())));
    }
    if (id->size() > kIdBytesMax) {
        return Failure(fmt::format("the id '{}' has {} characters; {} is the most", shown(*id),
                                   id->size(), kIdBytesMax));
    }
    return *id;
}

/// Takes a port number: `[12]`, or `[12][ext 3]` in a dump by chassis.
std::expected<std::uint8_t, std::string> take_port(Cursor& cursor) {
    const std::string_view before = cursor.rest();
    cursor.take("[");
    const auto digits = cursor.take_until(']');
    const auto number = digits ? parse_digits(trimmed(*digits), 10) : std::nullopt;
    if (!number || *number == 0 || *number > kPortsMax) {
        return Failure(fmt::format("expected a port in brackets, from [1] to [{}], not '{}'",
                                   kPortsMax, shown(before)));
    }
    if (cursor.take("[ext")) {
        cursor.take_until(']');
    }
    return static_cast<std::uint8_t>(*number);
}

/// Takes a GUID in parentheses: `(2c90300005679)`. Returns 0 if there is none.
std::expected<Guid, std::string> take_guid(Cursor& cursor) {
    cursor.skip_space();
    if (!cursor.take("(")) {
        return Guid{0};
    }
    const std::string_view before = cursor.rest();
    const auto digits = cursor.take_until(')');
    const auto number = digits ? parse_digits(*digits, 16) : std::nullopt;
    if (!number) {
        return Failure(fmt::format(
            "expected a GUID of up to 16 hexadecimal digits and ')', not '{}'", shown(before)));
    }
    return Guid{*number};
}

/// Returns the number after "lid " or "lmc "; 0 if the word is not there or no number follows.
std::uint64_t number_behind(std::string_view text, std::string_view word) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) {
        return 0;
    }
    Cursor cursor(text.substr(at + word.size()));
    return parse_digits(cursor.take_while(is_digit), 10).value_or(0);
}

/// Returns the LID in a text; 0 if it is none. A port that no subnet manager has configured yet
/// shows 0 or 65535.
Lid lid_in(std::string_view text) {
    const std::uint64_t lid = number_behind(text, "lid ");
    return lid <= kLidUnicastMax.value ? Lid{static_cast<std::uint16_t>(lid)} : Lid{0};
}

std::uint8_t lmc_in(std::string_view text) {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(number_behind(text, "lmc "), 7));
}

/// A comment, split at the quoted description in it. The description may contain quotes; the other
/// parts have none.
struct Comment {
    std::string_view before;
    std::optional<std::string_view> quoted;
    std::string_view after;
};

Comment split_comment(std::string_view comment) {
    const std::size_t first = comment.find('"');
    const std::size_t last = comment.rfind('"');
    if (first == last) {
        return {.before = {}, .quoted = std::nullopt, .after = comment};
    }
    return {.before = comment.substr(0, first),
            .quoted = comment.substr(first + 1, last - first - 1),
            .after = comment.substr(last + 1)};
}

// ---- Node lines ----

/// Splits a comment after its description, which has no quotes in old dumps.
std::pair<std::string_view, std::string_view> split_plain_description(std::string_view comment) {
    std::size_t end = comment.size();
    for (const std::string_view mark : {" enhanced port ", " base port ", " lid ", " lmc "}) {
        end = std::min(end, comment.find(mark));
    }
    return {trimmed(comment.substr(0, end)), comment.substr(end)};
}

std::expected<Line, std::string> parse_node(NodeKind kind, std::string_view keyword,
                                            Cursor cursor) {
    cursor.skip_space();
    if (cursor.take(":")) {
        return Failure(
            "this is a list of nodes without cables; dump the fabric with "
            "'ibnetdiscover' without -l");
    }
    const std::string_view before = cursor.rest();
    const auto ports = parse_digits(cursor.take_while(is_digit), 10);
    if (!ports || *ports == 0 || *ports > kPortsMax) {
        return Failure(
            fmt::format("expected the number of ports behind '{}', from 1 to {}, not '{}'", keyword,
                        kPortsMax, shown(before)));
    }
    const auto id = take_id(cursor);
    if (!id) {
        return Failure(id.error());
    }
    NodeLine node{.kind = kind, .ports = static_cast<std::uint8_t>(*ports), .id = *id};
    cursor.skip_space();
    if (!cursor.rest().empty() && !cursor.take("#")) {
        return Failure(fmt::format("'{}' behind the id is not understood; put '#' in front of it",
                                   shown(cursor.rest())));
    }
    const Comment comment = split_comment(cursor.rest());
    auto [description, tail] = comment.quoted ? std::pair(*comment.quoted, comment.after)
                                              : split_plain_description(comment.after);
    node.description = description.substr(0, kDescriptionBytesMax);
    node.enhanced_port_0 =
        kind == NodeKind::kSwitch && tail.find("enhanced port 0") != std::string_view::npos;
    node.lid = lid_in(tail);
    node.lmc = lmc_in(tail);
    return node;
}

// ---- Port lines ----

/// Returns the speeds of a port that came up at this one: it also supports the slower ones.
std::optional<std::uint16_t> speeds_up_to(std::string_view name) {
    if (name.starts_with('?')) {
        return std::uint16_t{0xFFFF};
    }
    const auto generation = parse_generation(std::string(name.substr(0, kShownBytesMax)));
    if (!generation) {
        return std::nullopt;
    }
    const auto rank = std::ranges::find(kGenerations, *generation) - kGenerations.begin();
    return static_cast<std::uint16_t>((2U << rank) - 1);
}

std::optional<std::uint8_t> widths_with(std::uint64_t lanes_wanted) {
    for (const Width width : kWidths) {
        if (lanes(width) == lanes_wanted) {
            // 4X and 12X ports also come up narrower, but only at widths of the first
            // specification.
            const auto bit = static_cast<unsigned>(width);
            const bool plain = width == Width::k4x || width == Width::k12x;
            return static_cast<std::uint8_t>(plain ? bit | ((bit - 1) & 0b0011U) : bit);
        }
    }
    return std::nullopt;
}

/// Returns the width and speed in a comment such as `lid 4 4xHDR`, or `4xHDR` alone, as people
/// write it; std::nullopt if it has none.
std::expected<std::optional<LinkMask>, std::string> dumped_link(std::string_view comment) {
    const std::size_t at = comment.rfind("lid ");
    const std::string_view alone = trimmed(comment);
    if (at == std::string_view::npos && alone.find_first_of(" \t") != std::string_view::npos) {
        return std::nullopt;
    }
    Cursor cursor(at == std::string_view::npos ? alone : comment.substr(at + 4));
    if (at != std::string_view::npos) {
        cursor.take_while(is_digit);
    }
    Cursor word(cursor.take_word());
    const std::string_view whole = word.rest();
    LinkMask mask{.speeds = 0, .widths = 0xFF};
    if (!word.take("??")) {
        const std::string_view digits = word.take_while(is_digit);
        if (digits.empty() || !word.take("x")) {
            return std::nullopt;
        }
        const auto lanes_wanted = parse_digits(digits, 10);
        const auto widths = lanes_wanted ? widths_with(*lanes_wanted) : std::nullopt;
        if (!widths) {
            return Failure(fmt::format("unknown link width in '{}'; widths are 1x, 2x, 4x, 8x, 12x",
                                       shown(whole)));
        }
        mask.widths = *widths;
    }
    const auto speeds = speeds_up_to(word.rest());
    if (!speeds) {
        return Failure(fmt::format("unknown link speed in '{}'; speeds are {}", shown(whole),
                                   generation_names("and")));
    }
    mask.speeds = *speeds;
    return mask;
}

std::expected<void, std::string> set_option(std::string_view word, PortLine& port) {
    struct Option {
        std::string_view name;
        std::optional<std::uint8_t> PortLine::* field;
        std::uint64_t min;
        std::uint64_t max;
    };
    constexpr std::array kOptions{Option{"w=", &PortLine::w, 1, 31},
                                  Option{"s=", &PortLine::s, 0, 7},
                                  Option{"e=", &PortLine::e, 0, 15}};
    const auto* const option = std::ranges::find_if(
        kOptions, [&](const Option& one) { return word.starts_with(one.name); });
    if (option == kOptions.end()) {
        return Failure(fmt::format("'{}' is not understood; a port has the options w=, s= and e=",
                                   shown(word)));
    }
    const auto number = parse_number(word.substr(option->name.size()));
    if (!number || *number < option->min || *number > option->max) {
        return Failure(fmt::format("'{}' is out of range; {} goes from {} to {}", shown(word),
                                   option->name, option->min, option->max));
    }
    port.*option->field = static_cast<std::uint8_t>(*number);
    return {};
}

std::expected<void, std::string> parse_port_tail(Cursor cursor, PortLine& port) {
    while (true) {
        cursor.skip_space();
        if (cursor.rest().empty()) {
            return {};
        }
        if (cursor.take("#")) {
            break;
        }
        if (const auto set = set_option(cursor.take_word(), port); !set) {
            return set;
        }
    }
    const Comment comment = split_comment(cursor.rest());
    port.lid = lid_in(comment.before);
    port.lmc = lmc_in(comment.before);
    const auto dumped = dumped_link(comment.after);
    if (!dumped) {
        return Failure(dumped.error());
    }
    port.dumped = *dumped;
    return {};
}

std::expected<Line, std::string> parse_port(std::string_view line) {
    Cursor cursor(line);
    PortLine port;
    const auto number = take_port(cursor);
    if (!number) {
        return Failure(number.error());
    }
    port.port = *number;
    const auto guid = take_guid(cursor);
    if (!guid) {
        return Failure(guid.error());
    }
    port.guid = *guid;
    const auto peer = take_id(cursor);
    if (!peer) {
        return Failure(peer.error());
    }
    port.peer = *peer;
    if (peer->find('@') != std::string_view::npos) {
        return Failure("aliases of ports ('@') are not read; name the node and its port");
    }
    cursor.skip_space();
    if (cursor.rest().starts_with('[')) {
        const auto peer_port = take_port(cursor);
        if (!peer_port) {
            return Failure(peer_port.error());
        }
        port.peer_port = *peer_port;
    }
    // The peer's GUID is also in the peer's own line; it is checked there.
    if (const auto peer_guid = take_guid(cursor); !peer_guid) {
        return Failure(peer_guid.error());
    }
    if (const auto tail = parse_port_tail(cursor, port); !tail) {
        return Failure(tail.error());
    }
    return port;
}

/// Returns whether a line that begins with a bracket is a shell prompt, such as
/// "[root@mgmt ~]# ibnetdiscover": there is no number in the brackets, and no quoted id follows.
bool is_prompt(std::string_view line) {
    Cursor cursor(line);
    cursor.take("[");
    const auto inside = cursor.take_until(']');
    cursor.skip_space();
    return inside && !parse_digits(trimmed(*inside), 10) && !cursor.rest().starts_with('"');
}

// ---- Settings ----

struct SettingRule {
    std::string_view name;
    Setting setting;
    std::uint64_t min;
    std::uint64_t max;
};

constexpr std::array kSettings{
    SettingRule{"vendid", Setting::kVendor, 0, UINT32_MAX},
    SettingRule{"devid", Setting::kDevice, 0, UINT32_MAX},
    SettingRule{"sysimgguid", Setting::kSystemImage, 0, UINT64_MAX},
    SettingRule{"switchguid", Setting::kSwitchGuid, 0, UINT64_MAX},
    SettingRule{"caguid", Setting::kHcaGuid, 0, UINT64_MAX},
    SettingRule{"hcaguids", Setting::kHcaGuid, 0, UINT64_MAX},
    SettingRule{"rtguid", Setting::kRouterGuid, 0, UINT64_MAX},
    SettingRule{"width", Setting::kWidth, 1, 31},
    SettingRule{"speed", Setting::kSpeed, 1, 7},
    SettingRule{"extspeed", Setting::kSpeedExtended, 0, 15},
    SettingRule{"module", Setting::kModule, 0, 0},
};

std::expected<Line, std::string> parse_module(Cursor cursor) {
    const auto name = take_id(cursor);
    if (!name || name->size() > kModuleBytesMax || name->find_first_of("#@") != name->npos) {
        return Failure(
            fmt::format("expected module=\"name\" of at most {} characters, without '#' "
                        "and '@'",
                        kModuleBytesMax));
    }
    return SettingLine{.setting = Setting::kModule, .text = *name};
}

std::expected<Line, std::string> parse_setting(const SettingRule& rule, Cursor cursor) {
    cursor.skip_space();
    const bool counts = rule.setting == Setting::kSwitchGuid || rule.setting == Setting::kHcaGuid ||
                        rule.setting == Setting::kRouterGuid;
    SettingLine line{.setting = rule.setting};
    line.relative = counts && cursor.take("+");
    if (!line.relative && !cursor.take("=")) {
        return Failure(fmt::format("expected '=' behind '{}'", rule.name));
    }
    if (rule.setting == Setting::kModule) {
        return parse_module(cursor);
    }
    cursor.skip_space();
    const std::string_view text =
        cursor.take_while([](char c) { return is_digit(c) || is_letter(c); });
    const auto number = parse_number(text);
    if (!number || *number < rule.min || *number > rule.max) {
        return Failure(fmt::format("expected a number from {} to {:#x} for '{}', not '{}'",
                                   rule.min, rule.max, rule.name, shown(text)));
    }
    line.value = *number;
    const auto port_guid = take_guid(cursor);
    if (!port_guid) {
        return Failure(port_guid.error());
    }
    line.port_guid = *port_guid;
    cursor.skip_space();
    if (!cursor.rest().empty() && !cursor.rest().starts_with('#')) {
        return Failure(fmt::format("'{}' behind '{}' is not understood; put '#' in front of it",
                                   shown(cursor.rest()), rule.name));
    }
    return line;
}

}  // namespace

std::uint16_t speeds_of(std::uint32_t s, std::uint32_t e) {
    constexpr unsigned kFdrRank = 4;
    static_assert(kGenerations[0] == Generation::kSdr &&
                  kGenerations[kFdrRank] == Generation::kFdr);
    return static_cast<std::uint16_t>(s | e << kFdrRank);
}

std::optional<Guid> guid_in_id(std::string_view id) {
    constexpr std::size_t kIdBytes = 18;
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (id.size() != kIdBytes || id[1] != '-' || (id[0] != 'S' && id[0] != 'H' && id[0] != 'R')) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char c : id.substr(2)) {
        const std::size_t digit = kDigits.find(c);
        if (digit == kDigits.npos) {
            return std::nullopt;
        }
        value = value << 4 | digit;
    }
    return Guid{value};
}

std::string shown(std::string_view text) {
    std::string result(text.substr(0, kShownBytesMax));
    std::ranges::replace_if(result, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text.size() > kShownBytesMax ? result + "..." : result;
}

std::expected<Line, std::string> parse_line(std::string_view raw) {
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.starts_with('#')) {
        return IgnoredLine{};
    }
    if (line.starts_with('[')) {
        return is_prompt(line) ? Line{ForeignLine{}} : parse_port(line);
    }
    if (line.starts_with("@[")) {
        return Failure("aliases of ports ('@') are not read; name the node and its port");
    }
    Cursor cursor(line);
    const std::string_view word = cursor.take_while(is_letter);
    cursor.skip_space();
    const char next = cursor.rest().empty() ? '\0' : cursor.rest().front();
    for (const auto& [keyword, kind] :
         {std::pair<std::string_view, NodeKind>("Switch", NodeKind::kSwitch),
          {"Ca", NodeKind::kHca},
          {"Hca", NodeKind::kHca},
          {"Rt", NodeKind::kRouter}}) {
        if (word == keyword && (is_digit(next) || next == '"' || next == ':')) {
            return parse_node(kind, keyword, cursor);
        }
    }
    const auto* const rule = std::ranges::find(kSettings, word, &SettingRule::name);
    if (rule != kSettings.end() && (is_digit(next) || next == '=' || next == '+')) {
        return parse_setting(*rule, cursor);
    }
    // Headings of `ibnetdiscover -g`, and `pdebug`, an option of ibsim's parser.
    if (word == "Chassis" || line.starts_with("Hostname:") || line.starts_with("Non-Chassis") ||
        word == "pdebug") {
        return IgnoredLine{};
    }
    if (word == "include" && next == '"') {
        return Failure("other files are not read; put the text of the included one here");
    }
    if (word == "do" && next >= 'A' && next <= 'Z') {
        return Failure("commands of ibsim are not supported; remove the line");
    }
    return ForeignLine{};
}

}  // namespace softib::topo::netlist
