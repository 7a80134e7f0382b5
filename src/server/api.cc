// SPDX-License-Identifier: BSD-2-Clause
#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/delta.h"
#include "server/json.h"
#include "server/page.h"
#include "telemetry/clocks.h"
#include "telemetry/export/csv.h"
#include "telemetry/health.h"
#include "telemetry/store/history.h"

namespace softib::server {

namespace {

using telemetry::Snapshot;

constexpr std::uint32_t kShardsMax = 1024;
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

Response not_found(std::string_view path) {
    return Response::error(404, fmt::format("nothing is at {}; see docs/api.md", path));
}

/// The part of an answer that a client asks for: ?num_shards=3&shard=0.
struct Shards {
    std::uint32_t count = 1;
    std::uint32_t index = 0;
};
std::optional<Shards> shards_of(const Request& request) {
    const auto count = number_of(request.parameter("num_shards"), 1, kShardsMax);
    const auto index = number_of(request.parameter("shard"), 0, kShardsMax);
    if (!count || !index || *count == 0 || *index >= *count) {
        return std::nullopt;
    }
    return Shards{static_cast<std::uint32_t>(*count), static_cast<std::uint32_t>(*index)};
}

Response bad_shards() {
    return Response::error(400, "num_shards must be 1 to 1024, and shard less than it");
}

Json port_json(const Snapshot& snapshot, std::uint32_t index) {
    const telemetry::Inventory& inventory = *snapshot.inventory;
    const telemetry::Port& port = inventory.ports[index];
    const telemetry::PortRate& rate = snapshot.rates[index];
    Json counters = Json::object();
    for (const auto& row : counters::kPortCounters) {
        counters[std::string(row.name)] = value_of(row, snapshot.sample.counts[index]);
    }
    return {{"port", index},
            {"name", inventory.port_name(index)},
            {"peer", inventory.peer_name(index)},
            {"guid", to_string(port.guid)},
            {"lid", inventory.node_of(index).lid.value},
            {"state", static_cast<int>(snapshot.sample.states[index])},
            {"speed", port.speed},
            {"mbps", port.active_mbps},
            {"fresh", snapshot.sample.fresh[index] != 0},
            {"time_us", snapshot.sample.wall_us},
            {"rates",
             {{"xmit_bytes", rate.xmit_bytes},
              {"rcv_bytes", rate.rcv_bytes},
              {"xmit_packets", rate.xmit_packets},
              {"rcv_packets", rate.rcv_packets},
              {"wait_share", rate.wait_share},
              {"errors", rate.errors},
              {"load", load_of(port, rate)}}},
            {"counters", std::move(counters)}};
}

Response done(const Controls::Done& result) {
    return result ? Response::json("{}") : Response::error(409, result.error());
}

}  // namespace

Response Api::handle(const Request& request) {
    const std::vector<std::string_view> path = split_path(request.path);
    const bool reads = !request.is_write();
    if (auto file = page_response(request)) {
        return *std::move(file);
    }
    if (path.empty()) {
        return not_found(request.path);
    }
    if (path[0] == "api") {
        return own(request, path);
    }
    if (reads && (request.path == "/metrics" || request.path == "/labels/metrics" ||
                  request.path == "/labels/enterprise")) {
        return metrics(request);
    }
    if (reads && path.size() >= 2 && path[0] == "csv") {
        const bool named = path[1] == "cset" || path[1] == "xcset";
        return csv(request, named && path.size() > 2 ? path[2] : path[1]);
    }
    if (reads && request.path == "/labels/csv/metrics") {
        return csv(request, "metrics");
    }
    return ufm_.handle(request, path);
}

Response Api::metrics(const Request& request) const {
    telemetry::MetricsOptions options = config_.metrics;
    const auto shards = shards_of(request);
    if (!shards) {
        return bad_shards();
    }
    options.shards = shards->count;
    options.shard = shards->index;
    const std::string_view style = request.parameter("exporter");
    if (!style.empty()) {
        options.by_node = style == "node" || style == "both";
        options.by_cable = style == "cable" || style == "both";
        if (!options.by_node && !options.by_cable) {
            return Response::error(400, "exporter is node, cable or both");
        }
    }
    if (const std::string_view counters = request.parameter("counters"); !counters.empty()) {
        const auto choice = telemetry::counter_choice(counters);
        if (!choice) {
            return Response::error(400, "counters is brief, traffic or all");
        }
        options.counters = *choice;
    }
    if (request.parameter("zeros") == "all") {
        options.counters = telemetry::CounterChoice::kAll;
    }
    // Clients take the time of their request for the time of the numbers. If the numbers are older,
    // the text has their time.
    options.timestamps = config_.collector->pace() == telemetry::Pace::kSlow;
    return Response::text(metrics_text(*config_.collector->fresh(), options), kMetricsType);
}

Response Api::csv(const Request& request, std::string_view set) const {
    const auto shards = shards_of(request);
    if (!shards) {
        return bad_shards();
    }
    auto text = csv_text(*config_.collector->fresh(),
                         {.set = set, .shards = shards->count, .shard = shards->index});
    return text ? Response::text(std::move(*text), "text/csv; charset=utf-8")
                : Response::error(404, "sets of columns are metrics and minimal");
}

Response Api::own(const Request& request, const std::vector<std::string_view>& path) {
    const bool reads = !request.is_write();
    if (path.size() < 3 || path[1] != "v1") {
        return not_found(request.path);
    }
    const std::string_view what = path[2];
    // The name is the whole rest of the path: names of nodes may have a slash.
    const std::size_t behind = request.path.find(what) + what.size() + 1;
    const std::string_view name = behind < request.path.size()
                                      ? std::string_view(request.path).substr(behind)
                                      : std::string_view{};
    if (reads && what == "fabric") {
        return fabric();
    }
    if (reads && what == "snapshot") {
        return Response::json(snapshot_json(*config_.collector->snapshot()));
    }
    if (reads && what == "events") {
        return events(request);
    }
    if (reads && what == "alarms") {
        Json list = Json::array();
        for (const telemetry::Event& event : config_.collector->alarms()) {
            list.push_back(to_json(event));
        }
        return Response::json(to_text({{"alarms", std::move(list)}}));
    }
    if (reads && what == "health") {
        return Response::json(to_text(to_json(
            telemetry::check_health(*config_.collector->snapshot(), config_.collector->alarms()))));
    }
    if (reads && what == "ports" && !name.empty()) {
        return port(request, name);
    }
    if (request.method == "POST" && what == "links" && !name.empty()) {
        return set_link(request, name);
    }
    if (request.method == "POST" && what == "switches" && !name.empty()) {
        return set_switch(request, name);
    }
    return for_page(request, what, name);
}

Response Api::fabric() const {
    const auto snapshot = config_.collector->snapshot();
    return Response::json(
        to_text({{"fabric", snapshot->inventory->fabric},
                 {"number", snapshot->number},
                 {"revision", snapshot->inventory->revision},
                 {"time_us", snapshot->sample.wall_us},
                 {"trouble", snapshot->trouble},
                 {"virtual_step_ns", snapshot->inventory->virtual_step_ns},
                 {"virtual_time_ns",
                  snapshot->inventory->virtual_step_ns == 0 ? 0 : snapshot->sample.time_ns},
                 {"read_seconds", snapshot->read_seconds},
                 {"nodes", snapshot->inventory->nodes.size()},
                 {"ports", snapshot->inventory->ports.size()},
                 {"silent", snapshot->sample.silent},
                 {"alarms", config_.collector->alarms().size()},
                 {"history", !config_.history.empty()},
                 {"control", config_.allow_control},
                 {"version", config_.version}}));
}

Response Api::events(const Request& request) const {
    const auto since = number_of(request.parameter("since"), 0, UINT64_MAX);
    if (!since) {
        return Response::error(400, "since must be a number: the revision of the last answer");
    }
    Json list = Json::array();
    std::uint64_t revision = *since;
    for (const telemetry::Event& event : config_.collector->events_since(*since)) {
        revision = std::max(revision, event.revision);
        list.push_back(to_json(event));
    }
    return Response::json(to_text({{"revision", revision}, {"events", std::move(list)}}));
}

Response Api::port(const Request& request, std::string_view name) const {
    const bool history = name.ends_with("/history");
    if (history) {
        name.remove_suffix(std::string_view("/history").size());
    }
    const auto snapshot = config_.collector->snapshot();
    const auto index = snapshot->inventory->find_port(name);
    if (!index || *index >= snapshot->rates.size()) {
        return Response::error(404, fmt::format("no port '{}'; names are as leaf0:3", name));
    }
    return history ? port_history(request, *snapshot, *index)
                   : Response::json(to_text(port_json(*snapshot, *index)));
}

Response Api::port_history(const Request& request, const Snapshot& snapshot,
                           std::uint32_t port) const {
    const auto ring = number_of(request.parameter("ring"), 0, telemetry::kRings.size() - 1);
    const auto to =
        number_of(request.parameter("to"),
                  static_cast<std::uint64_t>(telemetry::wall_us() / 1'000'000), UINT32_MAX);
    if (!ring || !to) {
        return Response::error(400,
                               "ring is 0 (1 s), 1 (10 s) or 2 (5 min); from and to are "
                               "seconds since 1970");
    }
    const telemetry::RingShape& shape = telemetry::kRings[*ring];
    const std::uint64_t whole = std::uint64_t{shape.slot_s} * shape.slots;
    const auto from = number_of(request.parameter("from"), *to > whole ? *to - whole : 0, *to);
    const std::string_view counter =
        request.parameter("counter").empty() ? "xmit_words" : request.parameter("counter");
    const auto column = telemetry::find_column(counter);
    if (!from || !column || *to - *from > whole) {
        return Response::error(400, fmt::format("counter must be one of those of a port, and from "
                                                "at most {} seconds before to",
                                                whole));
    }
    if (config_.history.empty()) {
        return Response::error(404, "this server keeps no history");
    }
    auto reader = telemetry::HistoryReader::open(config_.history);
    if (!reader) {
        return Response::error(503, reader.error());
    }
    const auto from_s = static_cast<std::int64_t>(*from);
    const auto to_s = static_cast<std::int64_t>(*to);
    Json points = Json::array();
    for (const auto& point :
         reader->read(snapshot.inventory->node_of(port).guid,
                      snapshot.inventory->ports[port].number, *column, *ring, from_s, to_s)) {
        points.push_back({point.time_s, point.value.mean, point.value.min, point.value.max});
    }
    return Response::json(to_text({{"port", snapshot.inventory->port_name(port)},
                                   {"counter", counter},
                                   {"slot_s", shape.slot_s},
                                   {"seen", reader->slots_seen(*ring, from_s, to_s)},
                                   {"points", std::move(points)}}));
}

Response Api::set_link(const Request& request, std::string_view name) const {
    const auto body = parse_json(request.body);
    if (!body || !body->is_object() || !body->contains("up") || !(*body)["up"].is_boolean()) {
        return Response::error(400, R"(send {"up": true} or {"up": false})");
    }
    const auto snapshot = config_.collector->snapshot();
    const auto port = snapshot->inventory->find_port(name);
    if (!port || config_.controls == nullptr) {
        return Response::error(
            404, port ? "this fabric can only be looked at" : fmt::format("no port '{}'", name));
    }
    return done(config_.controls->set_link(snapshot->inventory->node_of(*port).name,
                                           snapshot->inventory->ports[*port].number,
                                           (*body)["up"].get<bool>()));
}

Response Api::set_switch(const Request& request, std::string_view name) const {
    const auto body = parse_json(request.body);
    if (!body || !body->is_object() || !body->contains("on") || !(*body)["on"].is_boolean()) {
        return Response::error(400, R"(send {"on": true} or {"on": false})");
    }
    return config_.controls == nullptr
               ? Response::error(404, "this fabric can only be looked at")
               : done(config_.controls->set_switch(std::string(name), (*body)["on"].get<bool>()));
}

}  // namespace softib::server
