// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/store/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "telemetry/store/keys.h"

namespace softib::telemetry {

namespace {

constexpr std::int64_t kApplication = 0x736F6674;  // "soft"
constexpr std::uint32_t kPruneEvery = 10;
constexpr double kShrink = 0.8;
constexpr double kGrow = 1.05;
constexpr double kRoomy = 0.6;

constexpr char kSchema[] =
    "CREATE TABLE IF NOT EXISTS ports(id INTEGER PRIMARY KEY, guid INTEGER, number INTEGER, "
    "name TEXT, UNIQUE(guid, number));"
    "CREATE TABLE IF NOT EXISTS slots(key INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY, revision INTEGER, severity INTEGER, "
    "kind TEXT, category TEXT, object TEXT, text TEXT, first_us INTEGER, last_us INTEGER, "
    "count INTEGER, alarm INTEGER, active INTEGER);";

/// Index in the counter list of each stored counter, by column.
constexpr auto kStored = [] {
    std::array<std::size_t, kCounterColumns> rows{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < counters::kPortCounters.size(); ++i) {
        if (counters::kPortCounters[i].is_stored()) {
            rows[next++] = i;
        }
    }
    return rows;
}();

constexpr auto stored(std::size_t column) {
    return counters::kPortCounters[kStored[column]].value;
}

std::int64_t second_of(const Snapshot& snapshot) {
    return snapshot.sample.wall_us / 1'000'000;
}

std::uint32_t chunks_of(std::size_t ports) {
    return static_cast<std::uint32_t>((ports + kChunkPorts - 1) / kChunkPorts);
}

std::span<const Range> chunk_at(const std::vector<Range>& column, std::uint32_t chunk) {
    const std::size_t first = std::size_t{chunk} * kChunkPorts;
    return std::span(column).subspan(first,
                                     std::min<std::size_t>(kChunkPorts, column.size() - first));
}

}  // namespace

std::optional<std::size_t> find_column(std::string_view name) {
    for (std::size_t i = 0; i < kColumns; ++i) {
        if (column_name(i) == name) {
            return i;
        }
    }
    return std::nullopt;
}

std::string_view column_name(std::size_t column) {
    return column == kDownColumn ? "down" : counters::kPortCounters[kStored[column]].name;
}

std::expected<History, std::string> History::open(const std::string& path,
                                                  std::uint64_t bytes_max) {
    auto database = Database::open(path, true);
    if (!database) {
        return std::unexpected(database.error());
    }
    History history(std::move(*database));
    if (!history.prepare(bytes_max)) {
        return std::unexpected(
            fmt::format("cannot keep history in {}: {}; name another file with --history", path,
                        history.error()));
    }
    return history;
}

bool History::failed() {
    error_ = database_.error();
    database_.execute("ROLLBACK");
    known_ = nullptr;  // Ports that the transaction added are gone with it.
    load_ids();
    return false;
}

void History::load_ids() {
    ids_.clear();
    Statement known = database_.prepare("SELECT id, guid, number FROM ports");
    while (known && known.step() == SQLITE_ROW) {
        ids_[{static_cast<std::uint64_t>(known.number(1)),
              static_cast<std::uint8_t>(known.number(2))}] =
            static_cast<std::uint32_t>(known.number(0));
    }
}

bool History::prepare(std::uint64_t bytes_max) {
    bytes_max_ = std::max(bytes_max, kHistoryBytesMin);
    const std::int64_t owner = database_.number("PRAGMA application_id");
    const bool empty = database_.number("SELECT count(*) FROM sqlite_master") == 0;
    if (owner != kApplication && !empty) {
        error_ = "it is the database of another program";
        return false;
    }
    database_.execute("PRAGMA page_size = 8192");
    const bool made =
        database_.execute("PRAGMA journal_mode = WAL") &&
        database_.execute("PRAGMA synchronous = NORMAL") &&
        database_.execute("PRAGMA journal_size_limit = 16777216") &&
        database_.execute(fmt::format("PRAGMA application_id = {}", kApplication).c_str()) &&
        database_.execute(kSchema);
    insert_ = database_.prepare("INSERT OR REPLACE INTO slots VALUES(?, ?)");
    erase_ = database_.prepare("DELETE FROM slots WHERE key >= ? AND key < ?");
    add_port_ = database_.prepare("INSERT OR REPLACE INTO ports VALUES(?, ?, ?, ?)");
    save_event_ = database_.prepare(
        "INSERT OR REPLACE INTO events VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    if (!made || !insert_ || !erase_ || !add_port_ || !save_event_) {
        error_ = database_.error();
        return false;
    }
    load_ids();
    return true;
}

bool History::learn_ports(const Inventory& inventory) {
    id_of_.resize(inventory.ports.size());
    for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
        const std::pair<std::uint64_t, std::uint8_t> key{inventory.node_of(i).guid.value,
                                                         inventory.ports[i].number};
        const auto known = ids_.find(key);
        if (known != ids_.end()) {
            id_of_[i] = known->second;
            continue;
        }
        const auto id = static_cast<std::uint32_t>(ids_.size());
        const std::string name = inventory.port_name(i);
        add_port_.bind(1, id)
            .bind(2, static_cast<std::int64_t>(key.first))
            .bind(3, key.second)
            .bind(4, name);
        if (!add_port_.run()) {
            return false;
        }
        ids_[key] = id;
        id_of_[i] = id;
    }
    return true;
}

bool History::follow(std::shared_ptr<const Snapshot> now) {
    if (followed_ && now->trouble.empty() && second_of(*now) == second_of(*followed_)) {
        return true;
    }
    const bool written = !followed_ || add(*followed_, *now);
    followed_ = std::move(now);
    return written;
}

bool History::add(const Snapshot& before, const Snapshot& now) {
    if (before.number == 0 || !now.trouble.empty() || before.number == now.number ||
        before.sample.counts.size() != now.sample.counts.size() ||
        now.sample.time_ns <= before.sample.time_ns) {
        return true;  // There is nothing to compare.
    }
    const std::int64_t time_s = second_of(now);
    if (!database_.execute("BEGIN IMMEDIATE")) {
        error_ = database_.error();
        return false;
    }
    if (known_ != now.inventory) {
        if (!learn_ports(*now.inventory)) {
            return failed();
        }
        known_ = now.inventory;
    }
    if (!resumed_) {
        resumed_ = true;
        for (std::size_t ring = 1; ring < kRings.size(); ++ring) {
            resume(ring, time_s);
        }
    }
    const Columns columns = columns_between(before, now);
    if (!write_slot(0, time_s, columns) || !accumulate(1, time_s, columns) ||
        (until_prune_-- == 0 && !prune(time_s)) || !database_.execute("COMMIT")) {
        return failed();
    }
    error_.clear();
    return true;
}

History::Columns History::columns_between(const Snapshot& before, const Snapshot& now) const {
    const double seconds = static_cast<double>(now.sample.time_ns - before.sample.time_ns) / 1e9;
    Columns columns;
    for (std::size_t i = 0; i < now.sample.counts.size(); ++i) {
        const PortCounts& a = before.sample.counts[i];
        const PortCounts& b = now.sample.counts[i];
        if (now.sample.states[i] != PortState::kActive) {
            columns[kDownColumn].resize(ids_.size());
            columns[kDownColumn][id_of_[i]] = {1, 1, 1};
        }
        for (std::size_t c = 0; c < kCounterColumns; ++c) {
            if (const std::uint64_t grown = growth(a.*stored(c), b.*stored(c)); grown != 0) {
                const auto rate = static_cast<float>(static_cast<double>(grown) / seconds);
                columns[c].resize(ids_.size());
                columns[c][id_of_[i]] = {rate, rate, rate};
            }
        }
    }
    return columns;
}

bool History::write_slot(std::size_t ring, std::int64_t slot, const Columns& columns) {
    const auto write = [&](std::size_t column, std::uint32_t chunk, std::string_view row) {
        insert_.bind(1, slot_key(ring, chunk, column, slot)).bind_blob(2, row);
        return insert_.run();
    };
    // The first column always has a row, even an empty one: it says that the slot was sampled.
    bool good = write(0, 0, "");
    for (std::size_t c = 0; c < kColumns; ++c) {
        for (std::uint32_t chunk = 0; good && chunk < chunks_of(columns[c].size()); ++chunk) {
            const std::string row = encode_chunk(chunk_at(columns[c], chunk), ring != 0);
            good = row.empty() || write(c, chunk, row);
        }
    }
    return good;
}

/// Adds a finer slot to the slot of this ring that it is in, and writes that slot when it is over.
bool History::accumulate(std::size_t ring, std::int64_t time_s, const Columns& columns) {
    const std::int64_t slot = time_s / kRings[ring].slot_s;
    Accumulator& coarse = open_[ring];
    if (coarse.slot != slot && coarse.count != 0) {
        for (std::vector<Range>& column : coarse.columns) {
            for (Range& range : column) {
                range.mean /= static_cast<float>(coarse.count);
            }
        }
        const bool written =
            write_slot(ring, coarse.slot, coarse.columns) &&
            (ring + 1 == kRings.size() ||
             accumulate(ring + 1, coarse.slot * kRings[ring].slot_s, coarse.columns));
        coarse.count = 0;
        if (!written) {
            return false;
        }
    }
    coarse.slot = slot;
    for (std::size_t c = 0; c < kColumns; ++c) {
        std::vector<Range>& sums = coarse.columns[c];
        if (coarse.count == 0) {
            sums = columns[c];
            continue;
        }
        if (columns[c].empty()) {
            std::ranges::for_each(sums, [](Range& range) { range.min = 0; });
            continue;
        }
        sums.resize(std::max(sums.size(), columns[c].size()));  // New ports had zeros before.
        for (std::size_t i = 0; i < columns[c].size(); ++i) {
            sums[i].mean += columns[c][i].mean;
            sums[i].min = std::min(sums[i].min, columns[c][i].min);
            sums[i].max = std::max(sums[i].max, columns[c][i].max);
        }
    }
    ++coarse.count;
    return true;
}

/// Fills the slot of a coarser ring that is not complete with the finer slots that an earlier
/// process wrote.
void History::resume(std::size_t ring, std::int64_t time_s) {
    const RingShape& fine = kRings[ring - 1];
    const std::int64_t slot = time_s / kRings[ring].slot_s;
    const std::int64_t first = slot * kRings[ring].slot_s / fine.slot_s;
    Statement read = database_.prepare("SELECT data FROM slots WHERE key = ?");
    for (std::int64_t at = first; at < time_s / fine.slot_s; ++at) {
        Columns columns;
        bool seen = false;
        for (std::size_t c = 0; c < kColumns; ++c) {
            for (std::uint32_t chunk = 0; chunk < chunks_of(ids_.size()); ++chunk) {
                read.bind(1, slot_key(ring - 1, chunk, c, at));
                if (read.step() == SQLITE_ROW) {
                    columns[c].resize(ids_.size());
                    const std::size_t from = std::size_t{chunk} * kChunkPorts;
                    const std::size_t count =
                        std::min<std::size_t>(kChunkPorts, ids_.size() - from);
                    decode_chunk(read.bytes(0), std::span(columns[c]).subspan(from, count));
                    seen = true;
                }
                read.reset();
            }
        }
        if (seen) {
            static_cast<void>(accumulate(ring, at * fine.slot_s, columns));
        }
    }
}

std::uint64_t History::bytes_used() {
    const std::int64_t pages =
        database_.number("PRAGMA page_count") - database_.number("PRAGMA freelist_count");
    return static_cast<std::uint64_t>(pages * database_.number("PRAGMA page_size"));
}

bool History::prune(std::int64_t time_s) {
    until_prune_ = kPruneEvery;
    const std::uint64_t used = bytes_used();
    if (used > bytes_max_) {
        kept_ *= kShrink;
    } else if (static_cast<double>(used) < kRoomy * static_cast<double>(bytes_max_)) {
        kept_ = std::min(1.0, kept_ * kGrow);
    }
    for (std::size_t ring = 0; ring < kRings.size(); ++ring) {
        const std::int64_t now = time_s / kRings[ring].slot_s;
        const auto kept = std::max<std::int64_t>(
            2, static_cast<std::int64_t>(kept_ * static_cast<double>(kRings[ring].slots)));
        for (std::size_t c = 0; c < kColumns; ++c) {
            for (std::uint32_t chunk = 0; chunk < chunks_of(ids_.size()); ++chunk) {
                erase_.bind(1, slot_key(ring, chunk, c, 0))
                    .bind(2, slot_key(ring, chunk, c, std::max<std::int64_t>(0, now - kept)));
                if (!erase_.run()) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool History::save_events(const std::vector<Event>& changed) {
    if (changed.empty()) {
        return true;
    }
    if (!database_.execute("BEGIN IMMEDIATE")) {
        error_ = database_.error();
        return false;
    }
    for (const Event& event : changed) {
        save_event_.bind(1, static_cast<std::int64_t>(event.id))
            .bind(2, static_cast<std::int64_t>(event.revision))
            .bind(3, static_cast<std::int64_t>(event.severity))
            .bind(4, event.kind)
            .bind(5, event.category)
            .bind(6, event.object)
            .bind(7, event.text)
            .bind(8, event.first_us)
            .bind(9, event.last_us)
            .bind(10, static_cast<std::int64_t>(event.count))
            .bind(11, event.alarm ? 1 : 0)
            .bind(12, event.active ? 1 : 0);
        if (!save_event_.run()) {
            return failed();
        }
    }
    const std::string trim = fmt::format(
        "DELETE FROM events WHERE id <= {}",
        static_cast<std::int64_t>(changed.back().id) - static_cast<std::int64_t>(EventBook::kKept));
    return (database_.execute(trim.c_str()) && database_.execute("COMMIT")) || failed();
}

std::vector<Event> History::load_events() {
    std::vector<Event> events;
    Statement rows = database_.prepare(
        "SELECT id, revision, severity, kind, category, object, text, first_us, last_us, count, "
        "alarm, active FROM events ORDER BY id");
    while (rows && rows.step() == SQLITE_ROW) {
        events.push_back({.id = static_cast<std::uint64_t>(rows.number(0)),
                          .revision = static_cast<std::uint64_t>(rows.number(1)),
                          .severity = static_cast<Severity>(rows.number(2) & 3),
                          .kind = std::string(rows.bytes(3)),
                          .category = std::string(rows.bytes(4)),
                          .object = std::string(rows.bytes(5)),
                          .text = std::string(rows.bytes(6)),
                          .first_us = rows.number(7),
                          .last_us = rows.number(8),
                          .count = static_cast<std::uint64_t>(rows.number(9)),
                          .alarm = rows.number(10) != 0,
                          .active = rows.number(11) != 0});
    }
    return events;
}

}  // namespace softib::telemetry
