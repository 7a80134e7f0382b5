// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/netlist_text.h"

#include <algorithm>
#include <utility>

namespace softib::topo::netlist {

namespace {

/// The most pieces of a wrapped line: a line of a dump has up to 200 characters, and a terminal at
/// least 40 columns.
constexpr std::size_t kPiecesMax = 6;

using Parsed = std::expected<Line, std::string>;

/// Returns `text` without the escape sequence at its beginning (ECMA-48, 5.4: ESC [ parameters
/// final).
std::string_view behind_escape(std::string_view text) {
    text.remove_prefix(1);
    if (!text.starts_with('[')) {
        return text.substr(std::min<std::size_t>(text.size(), 1));
    }
    const auto is_final = [](char c) { return c >= '@' && c <= '~'; };
    const auto* const final = std::ranges::find_if(text.substr(1), is_final);
    const auto length = static_cast<std::size_t>(final - text.data());
    return text.substr(std::min(text.size(), length + 1));
}

/// Returns what a terminal shows of a line at the end: text after a carriage return, which pagers
/// print, overwrites the text before it.
std::string as_shown(std::string_view raw) {
    while (raw.ends_with('\r')) {
        raw.remove_suffix(1);
    }
    if (const std::size_t over = raw.rfind('\r'); over != raw.npos) {
        raw.remove_prefix(over + 1);
    }
    std::string line;
    line.reserve(raw.size());
    while (!raw.empty()) {
        constexpr char kEscape = 0x1B;
        const std::string_view plain = raw.substr(0, raw.find(kEscape));
        line += plain;
        raw.remove_prefix(plain.size());
        if (!raw.empty()) {
            raw = behind_escape(raw);
        }
    }
    return line;
}

/// Returns whether a line has all that ibnetdiscover prints in such a line. Netlists of other
/// origin, whose ids are no GUIDs, need not have all of it.
bool is_whole(const Parsed& parsed, std::string_view text) {
    if (!parsed) {
        return false;
    }
    if (const auto* const port = std::get_if<PortLine>(&*parsed)) {
        return port->dumped || !guid_in_id(port->peer);
    }
    if (const auto* const node = std::get_if<NodeLine>(&*parsed)) {
        if (!guid_in_id(node->id)) {
            return true;
        }
        if (node->kind == NodeKind::kSwitch) {
            const std::size_t lmc = text.rfind(" lmc ");
            return lmc != text.npos && text.find_first_of("0123456789", lmc) != text.npos;
        }
        // The id and the description have a pair of quotes each; the description may contain more.
        const auto quotes = std::ranges::count(text, '"');
        return quotes >= 4 && quotes % 2 == 0;
    }
    return !std::holds_alternative<ForeignLine>(*parsed);
}

/// Returns whether a line can be the rest of the one before: it is no line of a netlist by itself.
bool can_be_rest(const Parsed& parsed, std::string_view text) {
    return !parsed || std::holds_alternative<ForeignLine>(*parsed) ||
           (std::holds_alternative<IgnoredLine>(*parsed) && text.find('"') != text.npos);
}

}  // namespace

std::optional<std::string> TextLines::take_raw() {
    if (rest_.empty()) {
        return std::nullopt;
    }
    const std::string_view raw = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(raw.size() + 1, rest_.size()));
    ++taken_;
    return as_shown(raw);
}

/// Joins an incomplete line with its rest, if that makes it complete. Returns whether it did. A
/// wrapped line may have lost the space at which it was wrapped.
bool TextLines::join(const Parsed& parsed) {
    if (is_whole(parsed, line_) || (parsed && std::holds_alternative<ForeignLine>(*parsed))) {
        return false;
    }
    const std::string_view rest_before = rest_;
    const std::size_t taken_before = taken_;
    for (const std::string_view between : {"", " "}) {
        std::string whole = line_;
        for (std::size_t pieces = 1; pieces < kPiecesMax; ++pieces) {
            const auto piece = take_raw();
            if (!piece || !can_be_rest(parse_line(*piece), *piece)) {
                break;
            }
            whole.append(between).append(*piece);
            if (is_whole(parse_line(whole), whole)) {
                line_ = std::move(whole);
                joined_ += pieces;
                return true;
            }
        }
        rest_ = rest_before;
        taken_ = taken_before;
    }
    return false;
}

std::optional<Parsed> TextLines::next() {
    auto raw = take_raw();
    if (!raw) {
        return std::nullopt;
    }
    line_ = std::move(*raw);
    number_ = taken_;
    Parsed parsed = parse_line(line_);
    return join(parsed) ? parse_line(line_) : std::move(parsed);
}

}  // namespace softib::topo::netlist
