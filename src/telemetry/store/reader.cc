// SPDX-License-Identifier: BSD-2-Clause
// The reader of a history, for clients.
#include <algorithm>
#include <map>

#include "telemetry/store/history.h"
#include "telemetry/store/keys.h"

namespace softib::telemetry {

namespace {

constexpr float kBytesPerWord = 4;
constexpr std::uint32_t kNoId = UINT32_MAX;

/// Returns the port ids in a file of an inventory's ports; kNoId for a port that has none.
std::vector<std::uint32_t> ids_of(Database& database, const Inventory& inventory) {
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint32_t> known;
    Statement rows = database.prepare("SELECT id, guid, number FROM ports");
    while (rows && rows.step() == SQLITE_ROW) {
        known[{static_cast<std::uint64_t>(rows.number(1)),
               static_cast<std::uint8_t>(rows.number(2))}] =
            static_cast<std::uint32_t>(rows.number(0));
    }
    std::vector<std::uint32_t> ids;
    for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
        const auto id = known.find({inventory.node_of(i).guid.value, inventory.ports[i].number});
        ids.push_back(id == known.end() ? kNoId : id->second);
    }
    return ids;
}

}  // namespace

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

std::vector<Range> HistoryReader::column_at(std::size_t ring, std::int64_t slot, std::size_t column,
                                            std::size_t ids) {
    std::vector<Range> values(ids);
    Statement row = database_.prepare("SELECT data FROM slots WHERE key = ?");
    for (std::size_t from = 0; row && from < ids; from += kChunkPorts) {
        const auto chunk = static_cast<std::uint32_t>(from / kChunkPorts);
        row.bind(1, slot_key(ring, chunk, column, slot));
        if (row.step() == SQLITE_ROW && !row.bytes(0).empty()) {
            decode_chunk(row.bytes(0), std::span(values).subspan(
                                           from, std::min<std::size_t>(kChunkPorts, ids - from)));
        }
        row.reset();
    }
    return values;
}

std::size_t HistoryReader::ring_at(std::int64_t time_s) {
    std::size_t ring = 0;
    while (ring < kRings.size() && slots_seen(ring, time_s, time_s).empty()) {
        ++ring;
    }
    return ring;
}

std::vector<std::pair<std::string_view, float>> HistoryReader::growth_at(const Inventory& inventory,
                                                                         std::uint32_t port,
                                                                         std::int64_t time_s) {
    std::vector<std::pair<std::string_view, float>> growth;
    const std::size_t ring = ring_at(time_s);
    if (ring == kRings.size()) {
        return growth;
    }
    for (const auto& row : counters::kPortCounters) {
        const auto points = read(inventory.node_of(port).guid, inventory.ports[port].number,
                                 *find_column(row.name), ring, time_s, time_s);
        growth.emplace_back(row.name, points.empty() ? 0 : points.front().value.mean);
    }
    return growth;
}

Snapshot HistoryReader::moment(std::shared_ptr<const Inventory> inventory, std::int64_t time_s) {
    Snapshot snapshot;
    const std::size_t ring = ring_at(time_s);
    if (ring == kRings.size()) {
        return snapshot;
    }
    const std::int64_t slot = time_s / kRings[ring].slot_s;
    const std::vector<std::uint32_t> id_of = ids_of(database_, *inventory);
    std::size_t ids = 0;
    for (const std::uint32_t id : id_of) {
        ids = id == kNoId ? ids : std::max<std::size_t>(ids, id + 1);
    }
    snapshot.number = 1;
    snapshot.sample.wall_us = slot * kRings[ring].slot_s * 1'000'000;
    snapshot.sample.states.assign(id_of.size(), PortState::kActive);
    snapshot.rates.resize(id_of.size());
    const auto each = [&](std::size_t column, auto&& use) {
        const std::vector<Range> values = column_at(ring, slot, column, ids);
        for (std::size_t i = 0; i < id_of.size(); ++i) {
            if (id_of[i] != kNoId && values[id_of[i]].mean > 0) {
                use(i, values[id_of[i]].mean);
            }
        }
    };
    std::vector<PortRate>& rates = snapshot.rates;
    each(kDownColumn, [&](auto i, float) { snapshot.sample.states[i] = PortState::kDown; });
    each(*find_column("xmit_words"),
         [&](auto i, float v) { rates[i].xmit_bytes = v * kBytesPerWord; });
    each(*find_column("rcv_words"),
         [&](auto i, float v) { rates[i].rcv_bytes = v * kBytesPerWord; });
    each(*find_column("xmit_wait"),
         [&](auto i, float v) { rates[i].wait_share = wait_share(inventory->ports[i], v); });
    for (const auto& row : kErrorCounters) {
        each(*find_column(row.name), [&](auto i, float v) { rates[i].errors += v; });
    }
    snapshot.inventory = std::move(inventory);
    return snapshot;
}

}  // namespace softib::telemetry
