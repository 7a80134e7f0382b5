// SPDX-License-Identifier: BSD-2-Clause
#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/delta.h"
#include "server/json.h"
#include "server/page.h"
#include "telemetry/export/csv.h"
#include "telemetry/health.h"

namespace softib::server {

namespace {

using telemetry::Snapshot;

constexpr std::uint32_t kShardsMax = 1024;
constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

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

Response done(const Controls::Done& result) {
    return result ? Response::json("{}") : Response::error(409, result.error());
}

const Parameter kNumShards{.name = "num_shards",
                           .kind = ValueKind::kNumber,
                           .means = "answers that share the ports, by port GUID"};
const Parameter kShard{
    .name = "shard", .kind = ValueKind::kNumber, .means = "the number of this answer, from 0"};

}  // namespace

Api::Api(const ApiConfig& config)
    : config_(config),
      ufm_({config.collector, config.controls, config.dir, config.state_file, config.token,
            config.version}),
      explore_(config.dir) {
    if (!config.dir.empty() && config.allow_control) {
        captures_.emplace(config.softib, config.dir);
    }
    router_.add({.title = "page", .prefixes = {}, .routes = page_routes()});
    router_.add({.title = "own", .prefixes = {}, .routes = own_routes()});
    router_.add({.title = "ports", .prefixes = {}, .routes = port_routes()});
    router_.add({.title = "control", .prefixes = {}, .routes = control_routes()});
    router_.add({.title = "explore", .prefixes = {}, .routes = explore_.routes()});
    router_.add({.title = "telemetry", .prefixes = {}, .routes = telemetry_routes()});
    router_.add({.title = "ufm",
                 .prefixes = {"ufmRest", "ufmRestV2", "ufmRestV3", "ufmRestKrb"},
                 .routes = ufm_.routes()});
}

std::vector<Route> Api::own_routes() {
    using enum ValueKind;
    return {
        get("/api/v1/fabric", answer_by(this, &Api::fabric),
            "name, for a simulation `virtual_step_ns` (its time between two readings) and "
            "`virtual_time_ns`, `number` of the last reading, `revision` of the inventory, "
            "`trouble` (why the fabric cannot be read, or empty), counts of nodes, ports and "
            "alarms"),
        get("/api/v1/snapshot", answer_by(this, &Api::snapshot),
            "all nodes and ports in columns: `nodes.{guid,name,kind,lid,tier}`, "
            "`ports.{node,number,peer,mbps,speed,state,load,wait,errors}`. `peer` is a port's "
            "index or -1, `load` and `wait` are per mille, `load` of what the port sends, `state` "
            "is PortInfo's"),
        get("/api/v1/stream", answer_by(this, &Api::stream), "server-sent events, below",
            {{"since", kNumber, "the last message seen; the header `Last-Event-ID` comes first"}}),
        get("/api/v1/events", answer_by(this, &Api::events), "events that changed since then",
            {{"since", kNumber, "a revision"}}),
        get("/api/v1/alarms", answer_by(this, &Api::alarms), "what is wrong now"),
        post("/api/v1/topology/accept", answer_by(this, &Api::accept_topology),
             "nothing is missing any more: what is there now is all that should be there"),
        get("/api/v1/health", answer_by(this, &Api::health), "the checks of `softib health`"),
    };
}

std::vector<Route> Api::port_routes() {
    using enum ValueKind;
    return {
        get("/api/v1/ports/{port...}/history", answer_by(this, &Api::port_history),
            "`points` of `[time, mean, min, max]` per second. `seen` lists the slots that were "
            "sampled: such a slot without a point had no growth",
            {{"counter", kText, "a counter of a port, `xmit_words` if not given"},
             {"ring", kNumber, "0 (1 s), 1 (10 s) or 2 (5 min)"},
             {"from", kNumber, "seconds since 1970"},
             {"to", kNumber, "seconds since 1970"}}),
        get("/api/v1/ports/{port...}", answer_by(this, &Api::port),
            "one port (`leaf0:3`, `h0/mlx5_0:1`, or UFM's `GUID_N`): state, rates, all counters. "
            "With `time`, `counters` are those that the history keeps, as growth per second",
            {{"time", kNumber, "seconds since 1970: the port as it was then, by the history"}}),
        get("/api/v1/slots", answer_by(this, &Api::slots),
            "for each ring of the history `slot_s` and `times`, the slots that were sampled"),
        get("/api/v1/moment", answer_by(this, &Api::moment),
            "`ports.{state,load,wait,errors}` of all ports as they were then, by the finest ring "
            "that still has it; the order is the snapshot's. A port that was not active in a part "
            "of the slot is Down",
            {{"time", kNumber, "seconds since 1970", true}}),
    };
}

std::vector<Route> Api::control_routes() {
    using enum ValueKind;
    return {
        post("/api/v1/links/{port...}", answer_by(this, &Api::set_link),
             "pulls a cable, or puts it back", {{"up", kFlag, "", true}}),
        post("/api/v1/switches/{switch...}", answer_by(this, &Api::set_switch),
             "turns a switch off, or on again", {{"on", kFlag, "", true}}),
        post("/api/v1/routes/{switch...}", answer_by(this, &Api::set_route),
             "writes an entry of a forwarding table. The subnet manager's next sweep may overwrite "
             "it",
             {{"lid", kNumber, "", true}, {"port", kAny, "a number; null drops packets", true}}),
        post("/api/v1/captures", answer_by(this, &Api::start_capture),
             "starts `softib capture` (packet path only)",
             {{"ports", kTexts, "without them, what all HCAs send"},
              {"packets", kNumber, "at most 100,000"}}),
        get("/api/v1/captures", answer_by(this, &Api::list_captures), "the captures"),
        get("/api/v1/captures/{id}", answer_by(this, &Api::capture_file), "the file of a capture"),
        remove("/api/v1/captures/{id}", answer_by(this, &Api::stop_capture), "ends a capture"),
    };
}

std::vector<Route> Api::telemetry_routes() {
    using enum ValueKind;
    const std::vector<Parameter> metrics{
        {"exporter", kText, "names by node, by cable, or both", false, {"node", "cable", "both"}},
        {"counters", kText, "below", false, {"brief", "traffic", "all"}},
        {"zeros", kText, "the same as `counters=all`", false, {"all"}},
        kNumShards,
        kShard};
    const std::vector<Parameter> csv{
        kNumShards, kShard, {"sharding_field", kText, "", false, {"port_guid"}}};
    const Handler answer_metrics = answer_by(this, &Api::metrics);
    const Handler answer_csv = answer_by(this, &Api::csv);
    return {
        get("/metrics", answer_metrics, "all ports, for Prometheus", metrics),
        get("/labels/metrics", answer_metrics, kSameAnswer, metrics),
        get("/labels/enterprise", answer_metrics, kSameAnswer, metrics),
        get("/csv/{set}", answer_csv,
            "a line per port; sets of columns are `metrics` and `minimal`", csv),
        get("/csv/cset/{set}", answer_csv, kSameAnswer, csv),
        get("/csv/xcset/{set}", answer_csv, kSameAnswer, csv),
        get("/labels/csv/{set}", answer_csv, kSameAnswer, csv),
    };
}

Response Api::metrics(const Call& call) const {
    const Request& request = call.request;
    telemetry::MetricsOptions options = config_.metrics;
    const auto shards = shards_of(request);
    if (!shards) {
        return bad_shards();
    }
    options.shards = shards->count;
    options.shard = shards->index;
    const std::string_view style = request.parameter("exporter");
    if (!style.empty()) {
        options.by_node = style != "cable";
        options.by_cable = style != "node";
    }
    if (const std::string_view counters = request.parameter("counters"); !counters.empty()) {
        options.counters = telemetry::counter_choice(counters).value_or(options.counters);
    }
    if (call.has("zeros")) {
        options.counters = telemetry::CounterChoice::kAll;
    }
    // Clients take the time of their request for the time of the numbers. If the numbers are older,
    // the text has their time.
    options.checks =
        telemetry::check_health(*config_.collector->snapshot(), config_.collector->alarms());
    options.timestamps = config_.collector->pace() == telemetry::Pace::kSlow;
    return Response::text(metrics_text(*config_.collector->fresh(), options), kMetricsType);
}

Response Api::csv(const Call& call) const {
    const auto shards = shards_of(call.request);
    if (!shards) {
        return bad_shards();
    }
    auto text = csv_text(*config_.collector->fresh(),
                         {.set = call.name(), .shards = shards->count, .shard = shards->index});
    return text ? Response::text(std::move(*text), "text/csv; charset=utf-8")
                : Response::error(404, "sets of columns are metrics and minimal");
}

Response Api::snapshot(const Call&) const {
    return Response::json(snapshot_json(*config_.collector->snapshot()));
}

Response Api::stream(const Call& call) const {
    const std::string_view last = call.request.header("last-event-id").empty()
                                      ? call.text("since")
                                      : call.request.header("last-event-id");
    Response response{.is_stream = true};
    if (!last.empty()) {
        response.stream_after = number_of(last, 0, UINT64_MAX);
    }
    return response;
}

Response Api::alarms(const Call&) const {
    Json list = Json::array();
    for (const telemetry::Event& event : config_.collector->alarms()) {
        list.push_back(to_json(event));
    }
    return Response::json(to_text({{"alarms", std::move(list)}}));
}

Response Api::accept_topology(const Call&) const {
    config_.collector->accept();
    return Response::json(to_text({{"accepted", true}}));
}

Response Api::health(const Call&) const {
    return Response::json(to_text(to_json(
        telemetry::check_health(*config_.collector->snapshot(), config_.collector->alarms()))));
}

Response Api::fabric(const Call&) const {
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

Response Api::events(const Call& call) const {
    const std::uint64_t since = number_of(call.text("since"), 0, UINT64_MAX).value_or(0);
    Json list = Json::array();
    std::uint64_t revision = 0;
    config_.collector->with_events([&](const telemetry::EventBook& book) {
        // A client may have seen a later one from a server that lost its history.
        revision = std::min(since, book.revision());
        for (const telemetry::Event& event : book.changed_since(since)) {
            revision = std::max(revision, event.revision);
            list.push_back(to_json(event));
        }
    });
    return Response::json(to_text({{"revision", revision}, {"events", std::move(list)}}));
}

Response Api::set_link(const Call& call) const {
    const auto snapshot = config_.collector->snapshot();
    const auto port = snapshot->inventory->find_port(call.name());
    if (!port || config_.controls == nullptr) {
        return Response::error(
            404, port ? kOnlyLook : fmt::format("no port '{}'; names are as leaf0:3", call.name()));
    }
    return done(config_.controls->set_link(snapshot->inventory->node_of(*port).name,
                                           snapshot->inventory->ports[*port].number,
                                           call.field("up", false)));
}

Response Api::set_switch(const Call& call) const {
    return config_.controls == nullptr ? Response::error(404, kOnlyLook)
                                       : done(config_.controls->set_switch(
                                             std::string(call.name()), call.field("on", false)));
}

}  // namespace softib::server
