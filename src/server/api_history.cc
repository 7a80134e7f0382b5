// SPDX-License-Identifier: BSD-2-Clause
// A port now, and the past of one port or of all.
#include <fmt/format.h>

#include <utility>

#include "server/api.h"
#include "server/delta.h"
#include "server/json.h"
#include "telemetry/clocks.h"
#include "telemetry/store/history.h"

namespace softib::server {

namespace {

using telemetry::Snapshot;

/// Returns what a snapshot has of a port, but its counters: one of the past has none.
Json port_json(const Snapshot& snapshot, std::uint32_t index) {
    const telemetry::Inventory& inventory = *snapshot.inventory;
    const telemetry::Port& port = inventory.ports[index];
    const telemetry::PortRate& rate = snapshot.rates[index];
    return {{"port", index},
            {"name", inventory.port_name(index)},
            {"peer", inventory.peer_name(index)},
            {"guid", to_string(port.guid)},
            {"lid", inventory.node_of(index).lid.value},
            {"state", static_cast<int>(snapshot.sample.states[index])},
            {"speed", port.speed},
            {"mbps", port.active_mbps},
            {"time_us", snapshot.sample.wall_us},
            {"rates",
             {{"xmit_bytes", rate.xmit_bytes},
              {"rcv_bytes", rate.rcv_bytes},
              {"xmit_packets", rate.xmit_packets},
              {"rcv_packets", rate.rcv_packets},
              {"wait_share", rate.wait_share},
              {"errors", rate.errors},
              {"load", load_of(port, rate)},
              {"sent_load", sent_load_of(port, rate)}}}};
}

Response no_port(std::string_view name) {
    return Response::error(404, fmt::format("no port '{}'; names are as leaf0:3", name));
}

Response nobody_looked() {
    return Response::error(404, "nobody looked then; /api/v1/slots lists what is kept");
}

std::optional<std::uint32_t> find_port(const Snapshot& snapshot, std::string_view name) {
    const auto index = snapshot.inventory->find_port(name);
    return index && *index < snapshot.rates.size() ? index : std::nullopt;
}

}  // namespace

std::expected<telemetry::HistoryReader, Response> Api::open_history() const {
    if (config_.history.empty()) {
        return std::unexpected(Response::error(404, "this server keeps no history"));
    }
    auto reader = telemetry::HistoryReader::open(config_.history);
    return reader ? std::expected<telemetry::HistoryReader, Response>(std::move(*reader))
                  : std::unexpected(Response::error(503, reader.error()));
}

Response Api::port(const Call& call) const {
    const auto snapshot = config_.collector->snapshot();
    const auto index = find_port(*snapshot, call.name());
    if (!index) {
        return no_port(call.name());
    }
    if (!call.has("time")) {
        Json json = port_json(*snapshot, *index);
        json["fresh"] = snapshot->sample.fresh[*index] != 0;
        json["counters"] = Json::object();
        for (const auto& row : counters::kPortCounters) {
            json["counters"][std::string(row.name)] =
                value_of(row, snapshot->sample.counts[*index]);
        }
        return Response::json(to_text(json));
    }
    const auto time = number_of(call.text("time"), 0, UINT32_MAX);
    if (!time) {
        return Response::error(400, "time is seconds since 1970");
    }
    auto reader = open_history();
    if (!reader) {
        return reader.error();
    }
    const auto seconds = static_cast<std::int64_t>(*time);
    const auto then = reader->moment(snapshot->inventory, seconds);
    if (then.number == 0) {
        return nobody_looked();
    }
    Json json = port_json(then, *index);
    json["counters"] = Json::object();
    for (const auto& [counter, growth] : reader->growth_at(*snapshot->inventory, *index, seconds)) {
        json["counters"][std::string(counter)] = growth;
    }
    return Response::json(to_text(json));
}

Response Api::port_history(const Call& call) const {
    const auto snapshot = config_.collector->snapshot();
    const auto port = find_port(*snapshot, call.name());
    if (!port) {
        return no_port(call.name());
    }
    const auto ring = number_of(call.text("ring"), 0, telemetry::kRings.size() - 1);
    const auto to = number_of(
        call.text("to"), static_cast<std::uint64_t>(telemetry::wall_us() / 1'000'000), UINT32_MAX);
    if (!ring || !to) {
        return Response::error(400,
                               "ring is 0 (1 s), 1 (10 s) or 2 (5 min); from and to are "
                               "seconds since 1970");
    }
    const telemetry::RingShape& shape = telemetry::kRings[*ring];
    const std::uint64_t whole = std::uint64_t{shape.slot_s} * shape.slots;
    const auto from = number_of(call.text("from"), *to > whole ? *to - whole : 0, *to);
    const std::string_view counter = call.has("counter") ? call.text("counter") : "xmit_words";
    const auto column = telemetry::find_column(counter);
    if (!from || !column || *to - *from > whole) {
        return Response::error(400, fmt::format("counter must be one of those of a port, and from "
                                                "at most {} seconds before to",
                                                whole));
    }
    auto reader = open_history();
    if (!reader) {
        return reader.error();
    }
    const auto from_s = static_cast<std::int64_t>(*from);
    const auto to_s = static_cast<std::int64_t>(*to);
    Json points = Json::array();
    for (const auto& point :
         reader->read(snapshot->inventory->node_of(*port).guid,
                      snapshot->inventory->ports[*port].number, *column, *ring, from_s, to_s)) {
        points.push_back({point.time_s, point.value.mean, point.value.min, point.value.max});
    }
    return Response::json(to_text({{"port", snapshot->inventory->port_name(*port)},
                                   {"counter", counter},
                                   {"slot_s", shape.slot_s},
                                   {"seen", reader->slots_seen(*ring, from_s, to_s)},
                                   {"points", std::move(points)}}));
}

/// Answers with the width of a slot and the times of the sampled slots, for each ring of history.
Response Api::slots(const Call&) const {
    auto reader = open_history();
    if (!reader) {
        return reader.error();
    }
    const std::int64_t now = telemetry::wall_us() / 1'000'000;
    Json rings = Json::array();
    for (std::size_t i = 0; i < telemetry::kRings.size(); ++i) {
        const telemetry::RingShape& shape = telemetry::kRings[i];
        const auto seen =
            reader->slots_seen(i, now - std::int64_t{shape.slot_s} * shape.slots, now + 1);
        rings.push_back({{"slot_s", shape.slot_s}, {"times", seen}});
    }
    return Response::json(to_text({{"rings", std::move(rings)}}));
}

Response Api::moment(const Call& call) const {
    const auto time = number_of(call.text("time"), 0, UINT32_MAX);
    if (!time || *time == 0) {
        return Response::error(400, "time is seconds since 1970");
    }
    auto reader = open_history();
    if (!reader) {
        return reader.error();
    }
    const auto then =
        reader->moment(config_.collector->snapshot()->inventory, static_cast<std::int64_t>(*time));
    return then.number == 0 ? nobody_looked() : Response::json(moment_json(then));
}

}  // namespace softib::server
