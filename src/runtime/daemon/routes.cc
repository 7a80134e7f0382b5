// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/routes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <type_traits>

namespace softib::live {

namespace {

using routing::SlMap;
using routing::SlToVl;

constexpr std::size_t kRowsMax = UINT16_MAX;

/// Gives equal things the same number.
template <typename T>
class Numbered {
  public:
    explicit Numbered(std::vector<T>& all) : all_(all) {}
    std::uint32_t operator()(const T& thing) {
        const auto [at, fresh] =
            numbers_.try_emplace(thing, static_cast<std::uint32_t>(all_.size()));
        if (fresh) {
            all_.push_back(thing);
        }
        return at->second;
    }

  private:
    std::vector<T>& all_;
    std::map<T, std::uint32_t> numbers_;
};

class LaneCollector {
  public:
    explicit LaneCollector(RouteFile& file) : file_(file), number_(file.rows) {}

    void add(const agent::Node& node) {
        const auto ports = static_cast<std::uint32_t>(node.port_count() + 1);
        SlToVl::PortTables tables{ports, std::vector<std::uint16_t>(std::size_t{ports} * ports)};
        for (std::uint32_t out = 0; out < ports; ++out) {
            const auto lanes = node.lanes(static_cast<std::uint8_t>(out));
            std::uint16_t row = lanes.empty() ? at_power_up(node) : std::uint16_t{0};
            for (std::uint32_t in = 0; in < ports; ++in) {
                if (!lanes.empty() && (in == 0 || lanes[in] != lanes[in - 1])) {
                    row = limited(number_(lanes[in]));
                }
                tables.row_of[std::size_t{in} * ports + out] = row;
            }
        }
        // Most neighbours have the same tables.
        const auto same = std::ranges::find(file_.tables, tables);
        file_.tables_of.push_back(static_cast<std::uint32_t>(same - file_.tables.begin()));
        if (same == file_.tables.end()) {
            file_.tables.push_back(std::move(tables));
        }
    }

  private:
    std::uint16_t at_power_up(const agent::Node& node) {
        SlToVl::Row row{};
        for (std::uint8_t sl = 0; sl < row.size(); ++sl) {
            row[sl] = node.vl(0, 0, sl);
        }
        return limited(number_(row));
    }

    /// More tables than any manager writes: the first stands for all that follow.
    static std::uint16_t limited(std::uint32_t row) {
        return row > kRowsMax ? std::uint16_t{0} : static_cast<std::uint16_t>(row);
    }

    RouteFile& file_;
    Numbered<SlToVl::Row> number_;
};

void collect_multicast(const agent::Node& node, std::uint32_t sw, RouteFile& file) {
    const auto mft = node.mft();
    for (std::size_t i = 0; i < mft.size(); ++i) {
        if (std::ranges::any_of(mft[i], [](std::uint16_t mask) { return mask != 0; })) {
            file.multicast.push_back(
                {sw, static_cast<std::uint16_t>(kLidMulticastMin.value + i), mft[i]});
        }
    }
}

SlMap collect_sls(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                  const routing::Graph& graph, const SlMap& planned) {
    if (planned.uniform()) {
        return {};
    }
    std::map<std::uint64_t, std::uint32_t> rank;
    for (std::uint32_t i = 0; i < graph.switch_count(); ++i) {
        rank[graph.guid(i).value] = i;
    }
    const auto count = static_cast<std::uint32_t>(switches.size());
    std::vector<std::uint32_t> rank_of(count, routing::kNone);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto found = rank.find(mesh.node(switches[i]).spec().node_guid.value);
        rank_of[i] = found == rank.end() ? routing::kNone : found->second;
    }
    SlMap sls = SlMap::by_pair(count);
    for (std::uint32_t a = 0; a < count; ++a) {
        for (std::uint32_t b = 0; b < count; ++b) {
            if (rank_of[a] != routing::kNone && rank_of[b] != routing::kNone) {
                sls.set(a, b, planned.at(rank_of[a], rank_of[b]), count);
            }
        }
    }
    return sls;
}

class Writer {
  public:
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void list(std::span<const T> items) {
        const std::uint64_t bytes = items.size_bytes();
        append(&bytes, sizeof bytes);
        append(items.data(), items.size_bytes());
    }
    void append(const void* from, std::size_t bytes) {
        const auto* const first = static_cast<const char*>(from);
        bytes_.insert(bytes_.end(), first, first + bytes);
    }
    std::span<const char> bytes() const { return bytes_; }

  private:
    std::vector<char> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const char> bytes) : left_(bytes) {}

    template <typename T>
        requires std::is_trivially_copyable_v<T>
    std::vector<T> list() {
        std::uint64_t bytes = 0;
        if (!take(&bytes, sizeof bytes) || bytes > left_.size() || bytes % sizeof(T) != 0) {
            good_ = false;
            return {};
        }
        std::vector<T> items(bytes / sizeof(T));
        take(items.data(), bytes);
        return items;
    }
    bool good() const { return good_; }

  private:
    bool take(void* to, std::size_t bytes) {
        if (!good_ || bytes > left_.size()) {
            good_ = false;
            return false;
        }
        if (bytes != 0) {
            std::memcpy(to, left_.data(), bytes);
        }
        left_ = left_.subspan(bytes);
        return true;
    }

    std::span<const char> left_;
    bool good_ = true;
};

/// Cuts the tables of all switches apart; false where numbers point to nothing.
bool cut_tables(const std::vector<std::uint32_t>& ports, std::span<const std::uint16_t> row_of,
                RouteFile& file) {
    for (const std::uint32_t n : ports) {
        const std::size_t count = std::size_t{n} * n;
        if (n > 256 || count > row_of.size()) {
            return false;
        }
        file.tables.push_back(
            {n, {row_of.begin(), row_of.begin() + static_cast<std::ptrdiff_t>(count)}});
        row_of = row_of.subspan(count);
    }
    const auto exists = [](std::size_t count) {
        return [count](std::size_t number) { return number < count; };
    };
    return row_of.empty() && std::ranges::all_of(file.tables_of, exists(file.tables.size())) &&
           std::ranges::all_of(file.tables, [&](const SlToVl::PortTables& tables) {
               return std::ranges::all_of(tables.row_of, exists(file.rows.size()));
           });
}

std::expected<std::vector<char>, std::string> read_all(int fd) {
    struct stat st{};
    if (fstat(fd, &st) != 0) {
        return std::unexpected(std::strerror(errno));
    }
    std::vector<char> bytes(static_cast<std::size_t>(st.st_size));
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n =
            pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return std::unexpected(n == 0 ? "it ends early" : std::strerror(errno));
        }
        done += n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    return bytes;
}

bool is_up(PortState state) {
    return state == PortState::kInit || state == PortState::kArmed || state == PortState::kActive;
}

PortState state_of(const std::atomic<PortState>& state) {
    return state.load(std::memory_order_relaxed);
}

/// Builds the graph of an arena.
class Joiner {
  public:
    Joiner(const Arena& arena, Routes& routes) : arena_(arena), routes_(routes) {}

    std::expected<void, std::string> run() {
        const ArenaHeader& header = *arena_.header;
        for (std::uint32_t i = 0; i < header.switches; ++i) {
            builder_.add_switch(Guid{arena_.switches[i].node_guid});
        }
        for (std::uint32_t i = 0; i < header.switches; ++i) {
            add_switch(i);
        }
        for (std::uint32_t i = 0; i < header.hcas; ++i) {
            add_hca(arena_.hcas[i], i);
        }
        auto graph = builder_.build();
        if (!graph) {
            return std::unexpected(graph.error().message);
        }
        routes_.graph = std::move(*graph);
        return {};
    }

  private:
    const SwitchPortRecord& port(std::uint32_t sw, std::uint32_t number) const {
        return arena_.switch_ports[arena_.switches[sw].port_first + number];
    }

    void add_switch(std::uint32_t sw) {
        const SwitchRecord& record = arena_.switches[sw];
        bool cabled = false;
        for (std::uint32_t p = 1; p < record.port_count; ++p) {
            const SwitchPortRecord& here = port(sw, p);
            if (!is_up(state_of(here.state))) {
                continue;
            }
            cabled = true;
            routes_.not_active += state_of(here.state) == PortState::kActive ? 0U : 1U;
            // Each cable once, from its lower end.
            if (here.peer.kind == NodeRef::kSwitch &&
                std::pair(here.peer.index, std::uint32_t{here.peer_port}) > std::pair(sw, p) &&
                is_up(state_of(port(here.peer.index, here.peer_port).state))) {
                builder_.add_cable(sw, static_cast<std::uint8_t>(p), here.peer.index,
                                   here.peer_port);
            }
        }
        const Lid lid{record.lid.load(std::memory_order_relaxed)};
        if (lid != kLidUnassigned) {
            builder_.add_target({.guid = Guid{record.node_guid}, .lid = lid, .at = sw});
        } else {
            routes_.without_lid += cabled ? 1U : 0U;
        }
    }

    void add_hca(const HcaRecord& record, std::uint32_t index) {
        const PortState state = state_of(record.state);
        if (record.peer_switch == UINT32_MAX || !is_up(state)) {
            return;
        }
        routes_.not_active += state == PortState::kActive ? 0U : 1U;
        const Lid lid{record.lid.load(std::memory_order_relaxed)};
        if (lid == kLidUnassigned) {
            ++routes_.without_lid;
            return;
        }
        builder_.add_target({.guid = Guid{record.port_guid},
                             .lid = lid,
                             .lmc = record.lmc,
                             .port = record.peer_port,
                             .at = record.peer_switch,
                             .order = index});
    }

    const Arena& arena_;
    Routes& routes_;
    routing::GraphBuilder builder_;
};

/// The lanes, and how many of them the service levels of paths use.
void set_lanes(RouteFile& file, std::uint32_t switches, Routes& routes) {
    routing::Tables& tables = routes.tables;
    std::uint16_t used = 1;  // Bit mask of service levels.
    for (std::uint32_t a = 0; a < switches && !file.sls.uniform(); ++a) {
        for (std::uint32_t b = 0; b < switches; ++b) {
            used = static_cast<std::uint16_t>(used | 1U << file.sls.at(a, b));
        }
    }
    bool identity = true;
    tables.vls = 1;
    for (const SlToVl::Row& row : file.rows) {
        for (std::uint8_t sl = 0; sl < row.size(); ++sl) {
            if ((std::uint32_t{used} >> sl & 1U) == 0) {
                continue;
            }
            identity = identity && row[sl] == sl;
            if (row[sl] < routing::kVlDiscard) {
                tables.vls = std::max(tables.vls, static_cast<std::uint8_t>(row[sl] + 1));
            }
        }
    }
    routes.lanes = SlToVl(std::move(file.rows), std::move(file.tables), std::move(file.tables_of));
    tables.sls = std::move(file.sls);
    if (!identity) {
        tables.sl_to_vl = routes.lanes;
    }
}

}  // namespace

RouteFile collect_routes(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                         const sm::Manager* manager) {
    RouteFile file;
    LaneCollector lanes(file);
    for (std::uint32_t i = 0; i < switches.size(); ++i) {
        const agent::Node& node = mesh.node(switches[i]);
        lanes.add(node);
        collect_multicast(node, i, file);
    }
    if (manager != nullptr && manager->state() == wire::SmState::kMaster &&
        manager->graph() != nullptr) {
        file.engine = manager->tables().engine;
        file.sls = collect_sls(mesh, switches, *manager->graph(), manager->tables().sls);
    }
    return file;
}

int write_routes(const RouteFile& routes) {
    Writer writer;
    writer.list(std::span(routes.engine));
    std::vector<std::uint8_t> sls;
    if (!routes.sls.uniform()) {
        const auto count = static_cast<std::uint32_t>(routes.tables_of.size());
        sls.reserve(std::size_t{count} * count);
        for (std::uint32_t a = 0; a < count; ++a) {
            for (std::uint32_t b = 0; b < count; ++b) {
                sls.push_back(routes.sls.at(a, b));
            }
        }
    }
    writer.list(std::span<const std::uint8_t>(sls));
    writer.list(std::span(routes.rows));
    writer.list(std::span(routes.tables_of));
    writer.list(std::span(routes.multicast));
    std::vector<std::uint32_t> ports;
    std::vector<std::uint16_t> row_of;
    for (const SlToVl::PortTables& tables : routes.tables) {
        ports.push_back(tables.ports);
        row_of.insert(row_of.end(), tables.row_of.begin(), tables.row_of.end());
    }
    writer.list(std::span<const std::uint32_t>(ports));
    writer.list(std::span<const std::uint16_t>(row_of));
    const int fd = memfd_create("softib-routes", MFD_CLOEXEC);
    std::span<const char> left = writer.bytes();
    while (fd >= 0 && !left.empty()) {
        const ssize_t n = write(fd, left.data(), left.size());
        if (n < 0 && errno != EINTR) {
            const int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        left = left.subspan(n < 0 ? 0 : static_cast<std::size_t>(n));
    }
    return fd;
}

std::expected<RouteFile, std::string> read_routes(int fd) {
    const auto bytes = read_all(fd);
    if (!bytes) {
        return std::unexpected(bytes.error());
    }
    Reader reader(*bytes);
    RouteFile file;
    const auto engine = reader.list<char>();
    file.engine.assign(engine.begin(), engine.end());
    const auto sls = reader.list<std::uint8_t>();
    file.rows = reader.list<SlToVl::Row>();
    file.tables_of = reader.list<std::uint32_t>();
    file.multicast = reader.list<RouteFile::Multicast>();
    const auto ports = reader.list<std::uint32_t>();
    const auto row_of = reader.list<std::uint16_t>();
    const std::size_t count = file.tables_of.size();
    if (!reader.good() || !cut_tables(ports, row_of, file) ||
        (!sls.empty() && sls.size() != count * count) ||
        std::ranges::any_of(sls, [](std::uint8_t sl) { return sl >= routing::kSlCount; })) {
        return std::unexpected("it is of another version of softib");
    }
    if (!sls.empty()) {
        const auto switches = static_cast<std::uint32_t>(count);
        file.sls = SlMap::by_pair(switches);
        for (std::uint32_t a = 0; a < switches; ++a) {
            for (std::uint32_t b = 0; b < switches; ++b) {
                file.sls.set(a, b, sls[a * count + b], switches);
            }
        }
    }
    return file;
}

std::expected<Routes, std::string> join_routes(const Arena& arena, RouteFile file) {
    const std::uint32_t switches = arena.header->switches;
    if (file.tables_of.size() != switches) {
        return std::unexpected("softibd tells of another fabric");
    }
    Routes routes;
    if (auto joined = Joiner(arena, routes).run(); !joined) {
        return std::unexpected(joined.error());
    }
    routes.tables.engine = file.engine;
    routes.sls_known = !file.engine.empty();
    routes.multicast = std::move(file.multicast);
    set_lanes(file, switches, routes);
    routes.tables.lfts = routing::Lfts(switches, routes.graph.lid_max());
    for (std::uint32_t sw = 0; sw < switches; ++sw) {
        const auto row = routes.tables.lfts.row(sw);
        for (std::size_t lid = 0; lid < row.size() && lid < kLftEntries; ++lid) {
            row[lid] =
                arena.lft(sw, Lid{static_cast<std::uint16_t>(lid)}).load(std::memory_order_relaxed);
        }
    }
    return routes;
}

}  // namespace softib::live
