// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/lid_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

namespace softib::sm {

namespace {

constexpr std::string_view kBetweenWords = " \t\r";

std::optional<std::uint64_t> hex_number(std::string_view text) {
    if (!text.starts_with("0x")) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + 2, end, value, 16);
    return error == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

/// Returns the three words of a line; std::nullopt if it has another number of words.
std::optional<std::array<std::string_view, 3>> words_of(std::string_view line) {
    std::array<std::string_view, 3> words;
    for (std::string_view& word : words) {
        const std::size_t first = line.find_first_not_of(kBetweenWords);
        if (first == std::string_view::npos) {
            return std::nullopt;
        }
        line.remove_prefix(first);
        word = line.substr(0, line.find_first_of(kBetweenWords));
        line.remove_prefix(word.size());
    }
    return line.find_first_not_of(kBetweenWords) == std::string_view::npos ? std::optional(words)
                                                                           : std::nullopt;
}

void print_hex(std::uint64_t value, std::size_t digits, std::string& out) {
    std::array<char, 16> buffer{};
    const auto [end, error] = std::to_chars(buffer.begin(), buffer.end(), value, 16);
    const auto length = static_cast<std::size_t>(end - buffer.begin());
    out += "0x";
    out.append(digits - std::min(digits, length), '0');
    out.append(buffer.data(), length);
}

class LineReader {
  public:
    void read(std::string_view line, std::size_t number) {
        line = line.substr(0, line.find('#'));
        if (line.find_first_not_of(kBetweenWords) == std::string_view::npos) {
            return;
        }
        if (const char* const problem = take(line)) {
            result_.problems.push_back("line " + std::to_string(number) + ": " + problem);
        }
    }
    ParsedLidMap result() { return std::move(result_); }

  private:
    const char* take(std::string_view line) {
        const auto words = words_of(line);
        const auto guid = words ? hex_number((*words)[0]) : std::nullopt;
        const auto first = words ? hex_number((*words)[1]) : std::nullopt;
        const auto last = words ? hex_number((*words)[2]) : std::nullopt;
        if (!guid || !first || !last || *guid == 0) {
            return "not a GUID and two LIDs, as in 0x0002c90300000001 0x0001 0x0001";
        }
        if (*first == 0 || *first > *last || *last > kLidUnicastMax.value) {
            return "no range of unicast LIDs";
        }
        if (!guids_.insert(*guid).second) {
            return "the GUID has LIDs already";
        }
        const auto begin = used_.begin() + static_cast<std::ptrdiff_t>(*first);
        const auto end = used_.begin() + static_cast<std::ptrdiff_t>(*last) + 1;
        if (std::find(begin, end, true) != end) {
            return "another port has the LID already";
        }
        std::fill(begin, end, true);
        result_.ranges.push_back({Guid{*guid}, Lid{static_cast<std::uint16_t>(*first)},
                                  Lid{static_cast<std::uint16_t>(*last)}});
        return nullptr;
    }

    ParsedLidMap result_;
    std::unordered_set<std::uint64_t> guids_;
    std::vector<bool> used_ = std::vector<bool>(kLidMulticastMin.value);
};

}  // namespace

ParsedLidMap parse_lid_map(std::string_view text) {
    LineReader reader;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t cut = std::min(text.find('\n'), text.size());
        reader.read(text.substr(0, cut), number);
        text.remove_prefix(std::min(cut + 1, text.size()));
    }
    return reader.result();
}

std::string print_lid_map(std::span<const LidRange> ranges) {
    std::string text;
    for (const LidRange& range : ranges) {
        print_hex(range.guid.value, 16, text);
        text += ' ';
        print_hex(range.first.value, 4, text);
        text += ' ';
        print_hex(range.last.value, 4, text);
        text += '\n';
    }
    return text;
}

}  // namespace softib::sm
