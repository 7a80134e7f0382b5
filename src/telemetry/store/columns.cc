// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/store/columns.h"

#include <algorithm>
#include <bit>

namespace softib::telemetry {

namespace {

constexpr std::size_t kHead = 2;
constexpr unsigned kDropped = 15;  // Low bits of a float that a packed number does not have.

void put(std::string& row, std::uint16_t value) {
    row.push_back(static_cast<char>(value & 0xFF));
    row.push_back(static_cast<char>(value >> 8));
}

std::uint16_t get(std::string_view row, std::size_t at) {
    return static_cast<std::uint16_t>(static_cast<std::uint8_t>(row[at]) |
                                      static_cast<std::uint8_t>(row[at + 1]) << 8);
}

struct Packed {
    std::array<std::uint16_t, 3> numbers{};
};

Packed pack_range(const Range& range) {
    return {{pack(range.mean), pack(range.min), pack(range.max)}};
}

bool is_zero(const Packed& packed) {
    return packed.numbers == std::array<std::uint16_t, 3>{};
}

/// The shape of a row, checked against its length.
struct Shape {
    bool dense = false;
    std::size_t numbers = 1;
    std::size_t step = 2;   ///< Bytes per port.
    std::size_t ports = 0;  ///< Number of ports in the row.
};

std::optional<Shape> shape_of(std::string_view row) {
    if (row.size() < kHead || (row[0] != 0 && row[0] != 1) || (row[1] != 1 && row[1] != 3)) {
        return std::nullopt;
    }
    Shape shape{row[0] == 1, static_cast<std::size_t>(row[1]), 0, 0};
    shape.step = 2 * shape.numbers + (shape.dense ? 0 : 2);
    if ((row.size() - kHead) % shape.step != 0) {
        return std::nullopt;
    }
    shape.ports = (row.size() - kHead) / shape.step;
    return shape;
}

Range range_at(std::string_view row, const Shape& shape, std::size_t at) {
    at += shape.dense ? 0 : 2;
    const float mean = unpack(get(row, at));
    return shape.numbers == 1 ? Range{mean, mean, mean}
                              : Range{mean, unpack(get(row, at + 2)), unpack(get(row, at + 4))};
}

}  // namespace

std::uint16_t pack(float value) {
    if (!(value > 0)) {
        return 0;
    }
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>(
        std::min<std::uint32_t>((bits + (1U << (kDropped - 1))) >> kDropped, 0xFEFF));
}

float unpack(std::uint16_t packed) {
    return std::bit_cast<float>(std::uint32_t{packed} << kDropped);
}

std::string encode_chunk(std::span<const Range> ports, bool with_range) {
    std::array<Packed, kChunkPorts> packed{};
    std::size_t used = 0;
    std::size_t end = 0;  // One past the last port that is not zero.
    for (std::size_t i = 0; i < ports.size() && i < kChunkPorts; ++i) {
        packed[i] = pack_range(ports[i]);
        if (!is_zero(packed[i])) {
            ++used;
            end = i + 1;
        }
    }
    if (used == 0) {
        return {};
    }
    const std::size_t numbers = with_range ? 3 : 1;
    const bool dense = end * 2 * numbers <= used * (2 * numbers + 2);
    std::string row;
    row.reserve(kHead + (dense ? end * 2 * numbers : used * (2 * numbers + 2)));
    row.push_back(dense ? 1 : 0);
    row.push_back(static_cast<char>(numbers));
    for (std::size_t i = 0; i < end; ++i) {
        if (!dense && is_zero(packed[i])) {
            continue;
        }
        if (!dense) {
            put(row, static_cast<std::uint16_t>(i));
        }
        for (std::size_t n = 0; n < numbers; ++n) {
            put(row, packed[i].numbers[n]);
        }
    }
    return row;
}

bool decode_chunk(std::string_view row, std::span<Range> ports) {
    if (row.empty()) {
        return true;
    }
    const auto shape = shape_of(row);
    if (!shape) {
        return false;
    }
    for (std::size_t i = 0; i < shape->ports; ++i) {
        const std::size_t at = kHead + i * shape->step;
        const std::size_t port = shape->dense ? i : get(row, at);
        if (port < ports.size()) {
            ports[port] = range_at(row, *shape, at);
        }
    }
    return true;
}

std::optional<Range> decode_port(std::string_view row, std::uint32_t port) {
    if (row.empty()) {
        return Range{};
    }
    const auto shape = shape_of(row);
    if (!shape) {
        return std::nullopt;
    }
    if (shape->dense) {
        return port < shape->ports ? range_at(row, *shape, kHead + port * shape->step) : Range{};
    }
    for (std::size_t i = 0; i < shape->ports; ++i) {
        const std::size_t at = kHead + i * shape->step;
        if (get(row, at) == port) {
            return range_at(row, *shape, at);
        }
    }
    return Range{};
}

}  // namespace softib::telemetry
