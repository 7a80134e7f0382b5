// SPDX-License-Identifier: BSD-2-Clause
// Requests that only the web page makes: the past of all ports at once, routes, captures.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "server/api.h"
#include "server/delta.h"
#include "server/json.h"
#include "telemetry/clocks.h"
#include "telemetry/store/history.h"

namespace softib::server {

namespace {

constexpr char kOnlyLook[] = "this fabric can only be looked at";
constexpr std::size_t kCaptureBytesMax = std::size_t{256} << 20;

}  // namespace

Response Api::for_page(const Request& request, std::string_view what, std::string_view name) {
    const bool reads = !request.is_write();
    if (reads && what == "slots") {
        return slots();
    }
    if (reads && what == "moment") {
        return moment(request);
    }
    if (explore_) {
        if (auto answer = explore_->handle(request, what, name)) {
            return *std::move(answer);
        }
    }
    if (reads && !explore_ && Explore::knows(what)) {
        return Response::error(404, fmt::format("only a running fabric of softib tells its {}",
                                                what == "whatif" ? "routes" : what));
    }
    if (request.method == "POST" && what == "routes" && !name.empty()) {
        return set_route(request, name);
    }
    if (what == "captures" && config_.allow_control && captures_) {
        if (request.method == "POST" && name.empty()) {
            return start_capture(request);
        }
        if (reads) {
            return capture_file(name);
        }
        const auto id = number_of(name, 0, UINT32_MAX);
        return request.method == "DELETE" && id && captures_->stop(static_cast<std::uint32_t>(*id))
                   ? Response::json("{}")
                   : Response::error(404, fmt::format("no capture {}", name));
    }
    return Response::error(404, fmt::format("nothing is at {}; see docs/api.md", request.path));
}

/// Answers with the width of a slot and the times of the sampled slots, for each ring of history.
Response Api::slots() const {
    if (config_.history.empty()) {
        return Response::error(404, "this server keeps no history");
    }
    auto reader = telemetry::HistoryReader::open(config_.history);
    if (!reader) {
        return Response::error(503, reader.error());
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

Response Api::moment(const Request& request) const {
    const auto time = number_of(request.parameter("time"), 0, UINT32_MAX);
    if (!time || *time == 0) {
        return Response::error(400, "time is seconds since 1970");
    }
    if (config_.history.empty()) {
        return Response::error(404, "this server keeps no history");
    }
    auto reader = telemetry::HistoryReader::open(config_.history);
    if (!reader) {
        return Response::error(503, reader.error());
    }
    const auto then =
        reader->moment(config_.collector->snapshot()->inventory, static_cast<std::int64_t>(*time));
    return then.number == 0
               ? Response::error(404, "nobody looked then; /api/v1/slots lists what is kept")
               : Response::json(moment_json(then));
}

Response Api::set_route(const Request& request, std::string_view name) const {
    const auto body = parse_json(request.body);
    const bool good = body && body->is_object() && body->contains("lid") &&
                      (*body)["lid"].is_number_unsigned() && body->contains("port") &&
                      ((*body)["port"].is_null() || (*body)["port"].is_number_unsigned());
    const std::uint64_t lid = good ? (*body)["lid"].get<std::uint64_t>() : 0;
    const std::uint64_t port =
        good && !(*body)["port"].is_null() ? (*body)["port"].get<std::uint64_t>() : 0;
    if (!good || lid > UINT16_MAX || port >= UINT8_MAX) {
        return Response::error(400, R"(send {"lid": 5, "port": 3}; port null drops packets)");
    }
    if (config_.controls == nullptr) {
        return Response::error(404, kOnlyLook);
    }
    const auto done = config_.controls->set_route(
        std::string(name), Lid{static_cast<std::uint16_t>(lid)},
        (*body)["port"].is_null() ? std::nullopt : std::optional(static_cast<std::uint8_t>(port)));
    return done ? Response::json("{}") : Response::error(409, done.error());
}

Response Api::start_capture(const Request& request) {
    const auto body = parse_json(request.body);
    const bool good = body && body->is_object() &&
                      (!body->contains("ports") || (*body)["ports"].is_array()) &&
                      (!body->contains("packets") || (*body)["packets"].is_number_unsigned());
    const std::uint64_t packets =
        good ? body->value("packets", Captures::kPacketsMax) : std::uint64_t{0};
    if (!good || packets == 0 || packets > Captures::kPacketsMax) {
        return Response::error(
            400, fmt::format(R"(send {{"ports": ["leaf0:3"], "packets": 1000}}, at most {})",
                             Captures::kPacketsMax));
    }
    const auto snapshot = config_.collector->snapshot();
    std::vector<std::string> ports;
    for (const Json& each : body->value("ports", Json::array())) {
        const auto port = each.is_string()
                              ? snapshot->inventory->find_port(each.get_ref<const std::string&>())
                              : std::nullopt;
        if (!port) {
            return Response::error(404, fmt::format("no port {}", to_text(each)));
        }
        ports.push_back(snapshot->inventory->port_name(*port));
    }
    const auto started = captures_->start(std::move(ports), packets);
    return started ? Response::json(to_text({{"id", *started}}))
                   : Response::error(409, started.error());
}

/// Answers with the list of captures, or with the file of one if it is named.
Response Api::capture_file(std::string_view name) {
    if (name.empty()) {
        Json list = Json::array();
        for (const Captures::Capture& capture : captures_->list()) {
            list.push_back({{"id", capture.id},
                            {"ports", capture.ports},
                            {"packets", capture.packets},
                            {"running", capture.running},
                            {"bytes", capture.bytes},
                            {"trouble", capture.trouble}});
        }
        return Response::json(to_text({{"captures", std::move(list)}}));
    }
    const auto id = number_of(name, 0, UINT32_MAX);
    const std::string path = id ? captures_->file_of(static_cast<std::uint32_t>(*id)) : "";
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (path.empty() || !in || static_cast<std::size_t>(in.tellg()) > kCaptureBytesMax) {
        return Response::error(404, fmt::format("no file of capture {} that can be sent", name));
    }
    in.seekg(0);
    Response response =
        Response::text({std::istreambuf_iterator<char>(in), {}}, "application/vnd.tcpdump.pcap");
    response.headers["Content-Disposition"] =
        fmt::format("attachment; filename=\"capture-{}.pcap\"", *id);
    return response;
}

}  // namespace softib::server
