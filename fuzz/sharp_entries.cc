// SPDX-License-Identifier: BSD-2-Clause
#include "sharp_entries.h"

#include <algorithm>

#include "core/sharp/aggregation_node.h"
#include "core/wire/mad/mad.h"

namespace softib::fuzz {

namespace {

using sharp::AggregationNode;
using sharp::AggregationTables;

/// Returns a MAD of SHARP's class. The first byte chooses method and attribute.
wire::MadBytes sharp_mad(std::span<const std::uint8_t> bytes) {
    wire::MadBytes mad{};
    std::ranges::copy(bytes.first(std::min(bytes.size(), mad.size() - wire::kSharpDataOffset)),
                      mad.begin() + wire::kSharpDataOffset);
    const std::uint16_t attributes[] = {0x01, 0x10, 0x20, 0x21, 0x22, 0x23, 0x24, 0x30, 0x40, 0x50};
    const wire::MadRepr header{
        .mgmt_class = wire::MgmtClass::kSharp,
        .class_version = wire::kSharpClassVersion,
        .method = (bytes[0] & 1) != 0 ? wire::Method::kSet : wire::Method::kGet,
        .attribute_id = attributes[bytes[0] / 2 % std::size(attributes)]};
    header.emit(wire::Mad<std::uint8_t>(mad));
    return mad;
}

}  // namespace

bool sharp_holds(std::span<const std::uint8_t> input) {
    AggregationTables tables(sharp::default_an_info(), 8);
    AggregationNode node(tables);
    while (input.size() > 2) {
        const std::size_t bytes = std::min<std::size_t>(input.size() - 1, 1 + input[0] % 96U);
        const auto part = input.subspan(1, bytes);
        const bool is_mad = (input[0] & 0x80) != 0;
        input = input.subspan(1 + bytes);
        if (is_mad) {
            const AggregationTables before = tables;
            const auto answer = tables.answer(sharp_mad(part));
            if (!answer ||
                (wire::Mad<const std::uint8_t>(*answer).status() != 0 && !(tables == before))) {
                return false;
            }
        } else {
            node.handle_packet(Qpn{0x100U + part[0] % 8U}, part.subspan(1));
        }
        while (const auto departure = node.poll_transmit()) {
            if (!sharp::parse_packet(departure->bytes)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace softib::fuzz
