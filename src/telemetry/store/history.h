// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The history of a fabric in a file: three rings of slots, of 1 s, 10 s and 5 min. Each slot has
// the growth per second of every counter at every port; a slot of a coarser ring has mean, minimum
// and maximum of the finer slots in it. The file has a size limit: when it is reached, all rings
// forget their oldest slots.
//
// Ports are known by node GUID and port number, so that a port keeps its past when the fabric
// around it changes. A process that is killed loses the slot that it was writing. When the clock is
// set back, the slots of the time that comes again are overwritten.
//
// Thread rule: a History belongs to one thread. A HistoryReader may be used by one thread at a
// time, at the same time as the History.

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
    std::uint32_t slots;  ///< How many slots the ring keeps, at most.
};
inline constexpr std::array<RingShape, 3> kRings{
    {{1, 600}, {10, 720}, {300, 8640}}};  // 10 minutes, 2 hours, 30 days.

inline constexpr std::uint64_t kHistoryBytesDefault = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kHistoryBytesMin = std::uint64_t{1} << 20;

/// Number of stored counters: those of the list that have a member in PortCounts. One more column
/// has the part of a slot in which a port was not active.
inline constexpr std::size_t kCounterColumns = sizeof(PortCounts) / sizeof(std::uint64_t);
inline constexpr std::size_t kDownColumn = kCounterColumns;
inline constexpr std::size_t kColumns = kCounterColumns + 1;
/// Returns the column of a counter by its name in JSON; std::nullopt if none has that name.
std::optional<std::size_t> find_column(std::string_view name);
std::string_view column_name(std::size_t column);

class History {
  public:
    static std::expected<History, std::string> open(const std::string& path,
                                                    std::uint64_t bytes_max);

    /// Adds what ports did since the snapshot that was added last. A snapshot of the same second is
    /// skipped, and its growth is added with the next: so a slot of the finest ring is written
    /// once, and nothing that ports counted is lost. Returns as add().
    bool follow(std::shared_ptr<const Snapshot> now);
    /// Adds what ports did between two snapshots. Returns false if it could not be written, and is
    /// lost; error() says why.
    bool add(const Snapshot& before, const Snapshot& now);
    bool save_events(const std::vector<Event>& changed);
    std::vector<Event> load_events();

    const std::string& error() const { return error_; }
    std::uint64_t bytes_used();

  private:
    /// Values by [column][port id]; an empty column has only zeros.
    using Columns = std::array<std::vector<Range>, kColumns>;
    /// A slot of a coarser ring that is not complete yet.
    struct Accumulator {
        std::int64_t slot = -1;
        std::uint32_t count = 0;  ///< Number of finer slots in it so far.
        Columns columns;          ///< As in the finished slot, but `mean` is the sum so far.
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
    double kept_ = 1;  ///< Part of the rings' slots that fits into bytes_max_.
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::uint32_t> ids_;
    std::vector<std::uint32_t> id_of_;             ///< Port id, by port index in known_.
    std::shared_ptr<const Inventory> known_;       ///< The inventory that id_of_ is for.
    std::array<Accumulator, kRings.size()> open_;  ///< By ring; that of the finest is not used.
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
    /// Returns the points of a port and a column, the oldest first. A slot without a point had
    /// growth zero, or was not sampled: slots_seen() tells which.
    std::vector<Point> read(Guid node, std::uint8_t port, std::size_t column, std::size_t ring,
                            std::int64_t from_s, std::int64_t to_s);
    /// Returns when the slots that were sampled began.
    std::vector<std::int64_t> slots_seen(std::size_t ring, std::int64_t from_s, std::int64_t to_s);

    /// Returns the ports of an inventory as they were in the finest slot that is kept of a time.
    /// Rates are means over the slot. The snapshot's number is 0 if there is no such slot.
    Snapshot moment(std::shared_ptr<const Inventory> inventory, std::int64_t time_s);
    /// Returns the name of each counter, and its growth per second at a port in that slot.
    std::vector<std::pair<std::string_view, float>> growth_at(const Inventory& inventory,
                                                              std::uint32_t port,
                                                              std::int64_t time_s);

  private:
    explicit HistoryReader(Database database) : database_(std::move(database)) {}
    /// Returns the finest ring that has a slot of a time; kRings.size() if none has.
    std::size_t ring_at(std::int64_t time_s);
    /// Returns a column of a slot, by port id.
    std::vector<Range> column_at(std::size_t ring, std::int64_t slot, std::size_t column,
                                 std::size_t ids);

    Database database_;
};

}  // namespace softib::telemetry
