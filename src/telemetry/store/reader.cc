// SPDX-License-Identifier: BSD-2-Clause
// What clients read of the past.
#include "telemetry/store/history.h"
#include "telemetry/store/keys.h"

namespace softib::telemetry {

std::expected<HistoryReader, std::string> HistoryReader::open(const std::string& path) {
    auto database = Database::open(path, false);
    if (!database) {
        return std::unexpected(database.error());
    }
    return HistoryReader(std::move(*database));
}

std::vector<HistoryReader::Point> HistoryReader::read(Guid node, std::uint8_t port,
                                                      std::size_t column, std::size_t ring,
                                                      std::int64_t from_s, std::int64_t to_s) {
    std::vector<Point> points;
    Statement find = database_.prepare("SELECT id FROM ports WHERE guid = ? AND number = ?");
    if (!find ||
        find.bind(1, static_cast<std::int64_t>(node.value)).bind(2, port).step() != SQLITE_ROW) {
        return points;
    }
    const auto id = static_cast<std::uint32_t>(find.number(0));
    const std::int64_t width = kRings[ring].slot_s;
    Statement rows = database_.prepare("SELECT key, data FROM slots WHERE key >= ? AND key <= ?");
    rows.bind(1, slot_key(ring, id / kChunkPorts, column, from_s / width))
        .bind(2, slot_key(ring, id / kChunkPorts, column, to_s / width));
    while (rows.step() == SQLITE_ROW) {
        if (const auto value = decode_port(rows.bytes(1), id % kChunkPorts)) {
            points.push_back({slot_of(rows.number(0)) * width, *value});
        }
    }
    return points;
}

std::vector<std::int64_t> HistoryReader::slots_seen(std::size_t ring, std::int64_t from_s,
                                                    std::int64_t to_s) {
    std::vector<std::int64_t> times;
    const std::int64_t width = kRings[ring].slot_s;
    Statement rows = database_.prepare("SELECT key FROM slots WHERE key >= ? AND key <= ?");
    if (!rows) {
        return times;
    }
    rows.bind(1, slot_key(ring, 0, 0, from_s / width)).bind(2, slot_key(ring, 0, 0, to_s / width));
    while (rows.step() == SQLITE_ROW) {
        times.push_back(slot_of(rows.number(0)) * width);
    }
    return times;
}

}  // namespace softib::telemetry
