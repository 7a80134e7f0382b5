// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The past of a fabric in a file: three rings of slots, of 1 s, 10 s and 5 min. Each slot has the
// growth per second of every counter at every port; a coarse slot has mean, minimum and maximum of
// the fine ones in it. The file has a bound: when it is reached, all rings forget their oldest
// slots.
//
// Ports are known by node GUID and port number, so that a port keeps its past when the fabric
// around it changes. A process that is killed loses the slot that it was writing. When the clock is
// set back, slots follow it: the stretch that comes again is overwritten.
//
// Thread rule: a History belongs to one thread; a HistoryReader to one at a time, beside it.

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/snapshot.h"
#include "telemetry/store/columns.h"
#include "telemetry/store/database.h"

namespace softib::telemetry {

struct RingShape {
    std::uint32_t slot_s;
    std::uint32_t slots;  ///< The most that it keeps.
};
inline constexpr std::array<RingShape, 3> kRings{
    {{1, 600}, {10, 720}, {300, 8640}}};  // 10 minutes, 2 hours, 30 days.

inline constexpr std::uint64_t kHistoryBytesDefault = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kHistoryBytesMin = std::uint64_t{1} << 20;

/// Stored counters: those of the list that have a cell. One more column tells which part of a slot
/// a port was not active.
inline constexpr std::size_t kCounterColumns = sizeof(PortCounts) / sizeof(std::uint64_t);
inline constexpr std::size_t kDownColumn = kCounterColumns;
inline constexpr std::size_t kColumns = kCounterColumns + 1;
/// Returns the column of a counter by its name in JSON; std::nullopt: none has it.
std::optional<std::size_t> find_column(std::string_view name);
std::string_view column_name(std::size_t column);

class History {
  public:
    static std::expected<History, std::string> open(const std::string& path,
                                                    std::uint64_t bytes_max);

    /// Adds what ports did since the snapshot of the last call. One of the same second waits for
    /// the next: a slot of the finest ring is written once, and nothing that ports counted is lost.
    bool follow(std::shared_ptr<const Snapshot> now);
    /// Adds what ports did between two snapshots. Returns false if it could not be written; error()
    /// says why. What was not written is lost, and the next call tries again.
    bool add(const Snapshot& before, const Snapshot& now);
    bool save_events(const std::vector<Event>& changed);
    std::vector<Event> load_events();

    const std::string& error() const { return error_; }
    std::uint64_t bytes_used();

  private:
    /// By [column][port id]; a column that is empty has zeros only.
    using Columns = std::array<std::vector<Range>, kColumns>;
    /// What a coarse slot will hold.
    struct Accumulator {
        std::int64_t slot = -1;
        std::uint32_t count = 0;
        Columns columns;  ///< mean: the sum so far.
    };

    explicit History(Database database) : database_(std::move(database)) {}
    bool prepare(std::uint64_t bytes_max);
    bool learn_ports(const Inventory& inventory);
    void load_ids();
    Columns columns_between(const Snapshot& before, const Snapshot& now) const;
    bool write_slot(std::size_t ring, std::int64_t slot, const Columns& columns);
    bool accumulate(std::size_t ring, std::int64_t time_s, const Columns& columns);
    void resume(std::size_t ring, std::int64_t time_s);
    bool prune(std::int64_t time_s);
    bool failed();

    Database database_;
    Statement insert_;
    Statement erase_;
    Statement add_port_;
    Statement save_event_;
    std::uint64_t bytes_max_ = kHistoryBytesDefault;
    double kept_ = 1;  ///< Part of the slots that the bound leaves room for.
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint32_t> ids_;
    std::vector<std::uint32_t> id_of_;  ///< By port of the inventory of this revision:
    std::shared_ptr<const Inventory> known_;
    std::array<Accumulator, kRings.size()> open_;  ///< The first is not used.
    std::shared_ptr<const Snapshot> followed_;
    std::uint32_t until_prune_ = 0;
    bool resumed_ = false;
    std::string error_;
};

/// Reads what a History writes, from the same process or another.
class HistoryReader {
  public:
    static std::expected<HistoryReader, std::string> open(const std::string& path);

    struct Point {
        std::int64_t time_s = 0;  ///< When the slot began.
        Range value;
    };
    /// Returns the points of a port and a column, the oldest first. Slots that are not there had
    /// growth zero, or nobody looked: `slots_seen` tells which.
    std::vector<Point> read(Guid node, std::uint8_t port, std::size_t column, std::size_t ring,
                            std::int64_t from_s, std::int64_t to_s);
    /// Returns the beginnings of the slots in which somebody looked.
    std::vector<std::int64_t> slots_seen(std::size_t ring, std::int64_t from_s, std::int64_t to_s);

    /// All ports of an inventory as they were in the finest slot that is kept of a time; `number` 0
    /// says that there is none. Rates are means of the slot.
    Snapshot moment(std::shared_ptr<const Inventory> inventory, std::int64_t time_s);

  private:
    explicit HistoryReader(Database database) : database_(std::move(database)) {}
    /// By port id.
    std::vector<Range> column_at(std::size_t ring, std::int64_t slot, std::size_t column,
                                 std::size_t ids);

    Database database_;
};

}  // namespace softib::telemetry
