// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/qos.h"

#include <algorithm>
#include <charconv>

namespace softib::sm {

namespace {

constexpr std::uint8_t kVlManagement = 15;
constexpr std::size_t kHalf = 32;

std::optional<std::uint8_t> number(std::string_view text, std::uint8_t max) {
    while (text.starts_with(' ')) {
        text.remove_prefix(1);
    }
    while (text.ends_with(' ')) {
        text.remove_suffix(1);
    }
    std::uint8_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && rest == end && value <= max ? std::optional(value)
                                                               : std::nullopt;
}

/// Calls fn for every piece between commas until fn returns false. Returns whether it never did.
template <typename Fn>
bool for_each_piece(std::string_view text, Fn&& fn) {
    while (true) {
        const std::size_t cut = text.find(',');
        if (!fn(text.substr(0, cut))) {
            return false;
        }
        if (cut == std::string_view::npos) {
            return true;
        }
        text.remove_prefix(cut + 1);
    }
}

void fill(const ArbitrationList& list, std::uint8_t data_vls, std::size_t capacity,
          wire::VlArbitrationTable* halves) {
    std::size_t count = 0;
    for (const wire::VlArbitrationEntry& entry : list) {
        if (entry.vl < data_vls && count < std::min(capacity, kArbitrationMax)) {
            halves[count / kHalf].entry[count % kHalf] = entry;
            ++count;
        }
    }
}

}  // namespace

ArbitrationList default_vlarb_high() {
    ArbitrationList list;
    for (std::uint8_t vl = 0; vl < kVlManagement; ++vl) {
        list.push_back({vl, static_cast<std::uint8_t>(vl == 0 ? 4 : 0)});
    }
    return list;
}

ArbitrationList default_vlarb_low() {
    ArbitrationList list;
    for (std::uint8_t vl = 0; vl < kVlManagement; ++vl) {
        list.push_back({vl, static_cast<std::uint8_t>(vl == 0 ? 0 : 4)});
    }
    return list;
}

std::expected<ArbitrationList, std::string> parse_vlarb(std::string_view text) {
    ArbitrationList list;
    const bool good = for_each_piece(text, [&](std::string_view piece) {
        const std::size_t colon = piece.find(':');
        if (colon == std::string_view::npos) {
            return false;
        }
        const auto vl = number(piece.substr(0, colon), kVlManagement - 1);
        const auto weight = number(piece.substr(colon + 1), UINT8_MAX);
        if (!vl || !weight || list.size() == kArbitrationMax) {
            return false;
        }
        list.push_back({*vl, *weight});
        return true;
    });
    if (!good) {
        return std::unexpected(
            "must be up to 64 pairs of a lane (0 to 14) and its weight (0 to 255), as \"0:4,1:8\"");
    }
    return list;
}

std::expected<wire::SlToVlMappingTable, std::string> parse_sl2vl(std::string_view text) {
    wire::SlToVlMappingTable table;
    std::size_t count = 0;
    const bool good = for_each_piece(text, [&](std::string_view piece) {
        const auto vl = number(piece, wire::kVlDrop);
        if (!vl || count == table.vl.size()) {
            return false;
        }
        table.vl[count++] = *vl;
        return true;
    });
    if (!good) {
        return std::unexpected(
            "must be the lanes of up to 16 service levels, 0 to 14 or 15 to drop, as \"0,1,2,3\"");
    }
    std::fill(table.vl.begin() + static_cast<std::ptrdiff_t>(count), table.vl.end(),
              table.vl[count - 1]);
    return table;
}

std::string to_string(const ArbitrationList& list) {
    std::string text;
    for (const wire::VlArbitrationEntry& entry : list) {
        text += (text.empty() ? "" : ",") + std::to_string(entry.vl) + ":" +
                std::to_string(entry.weight);
    }
    return text;
}

std::string to_string(const wire::SlToVlMappingTable& table) {
    std::string text;
    for (const std::uint8_t vl : table.vl) {
        text += (text.empty() ? "" : ",") + std::to_string(vl);
    }
    return text;
}

std::string_view idle_arbitration(const QosConfig& config, std::uint8_t data_vls) {
    const auto is_idle = [data_vls](const ArbitrationList& list) {
        const auto weighs = [](const wire::VlArbitrationEntry& entry) { return entry.weight != 0; };
        return std::ranges::any_of(list, weighs) &&
               std::ranges::none_of(list, [&](const wire::VlArbitrationEntry& entry) {
                   return weighs(entry) && entry.vl < data_vls;
               });
    };
    if (is_idle(config.vlarb_high)) {
        return "vlarb_high";
    }
    // The default leaves VL0 to the high list.
    const bool low = config.vlarb_low != default_vlarb_low() && is_idle(config.vlarb_low);
    return low ? "vlarb_low" : "";
}

std::uint8_t data_vls_of(std::uint8_t code) {
    constexpr std::uint8_t kVls[] = {1, 1, 2, 4, 8, 15};
    return kVls[std::min<std::size_t>(code, std::size(kVls) - 1)];
}

wire::SlToVlMappingTable fold(const wire::SlToVlMappingTable& table, std::uint8_t data_vls) {
    wire::SlToVlMappingTable folded = table;
    for (std::uint8_t& vl : folded.vl) {
        if (vl != wire::kVlDrop) {
            vl = static_cast<std::uint8_t>(vl % data_vls);
        }
    }
    return folded;
}

wire::SlToVlMappingTable spread(std::uint8_t data_vls) {
    wire::SlToVlMappingTable table;
    for (std::size_t sl = 0; sl < table.vl.size(); ++sl) {
        table.vl[sl] = static_cast<std::uint8_t>(sl % data_vls);
    }
    return table;
}

std::array<wire::VlArbitrationTable, kArbitrationBlocks> arbitration_blocks(
    const QosConfig& config, std::uint8_t data_vls, std::uint8_t low_capacity,
    std::uint8_t high_capacity) {
    std::array<wire::VlArbitrationTable, kArbitrationBlocks> blocks{};
    fill(config.vlarb_low, data_vls, low_capacity, &blocks[0]);
    fill(config.vlarb_high, data_vls, high_capacity, &blocks[2]);
    return blocks;
}

}  // namespace softib::sm
