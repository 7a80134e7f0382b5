// SPDX-License-Identifier: BSD-2-Clause
// Routes that clients write, and captures.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "server/api.h"
#include "server/json.h"

namespace softib::server {

namespace {

constexpr std::size_t kCaptureBytesMax = std::size_t{256} << 20;
constexpr char kNoCaptures[] =
    "packets are captured on a running fabric of softib, by a server with --allow-control";

}  // namespace

Response Api::set_route(const Call& call) const {
    const auto lid = call.field<std::uint64_t>("lid", 0);
    const Json& given = call.body["port"];
    const std::uint64_t port = given.is_number_unsigned() ? given.get<std::uint64_t>() : 0;
    if ((!given.is_null() && !given.is_number_unsigned()) || lid > UINT16_MAX ||
        port >= UINT8_MAX) {
        return Response::error(400, R"(send {"lid": 5, "port": 3}; port null drops packets)");
    }
    if (config_.controls == nullptr) {
        return Response::error(404, kOnlyLook);
    }
    const auto done = config_.controls->set_route(
        std::string(call.name()), Lid{static_cast<std::uint16_t>(lid)},
        given.is_null() ? std::nullopt : std::optional(static_cast<std::uint8_t>(port)));
    return done ? Response::json("{}") : Response::error(409, done.error());
}

Response Api::start_capture(const Call& call) {
    if (!captures_) {
        return Response::error(404, kNoCaptures);
    }
    const std::uint64_t packets = call.field<std::uint64_t>("packets", Captures::kPacketsMax);
    if (packets == 0 || packets > Captures::kPacketsMax) {
        return Response::error(
            400, fmt::format(R"(send {{"ports": ["leaf0:3"], "packets": 1000}}, at most {})",
                             Captures::kPacketsMax));
    }
    const auto snapshot = config_.collector->snapshot();
    std::vector<std::string> ports;
    for (const std::string& each : call.texts("ports")) {
        const auto port = snapshot->inventory->find_port(each);
        if (!port) {
            return Response::error(404, fmt::format("no port '{}'", each));
        }
        ports.push_back(snapshot->inventory->port_name(*port));
    }
    const auto started = captures_->start(std::move(ports), packets);
    return started ? Response::json(to_text({{"id", *started}}))
                   : Response::error(409, started.error());
}

Response Api::list_captures(const Call&) {
    if (!captures_) {
        return Response::error(404, kNoCaptures);
    }
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

Response Api::capture_file(const Call& call) {
    if (!captures_) {
        return Response::error(404, kNoCaptures);
    }
    const auto id = number_of(call.name(), 0, UINT32_MAX);
    const std::string path = id ? captures_->file_of(static_cast<std::uint32_t>(*id)) : "";
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (path.empty() || !in || static_cast<std::size_t>(in.tellg()) > kCaptureBytesMax) {
        return Response::error(404,
                               fmt::format("no file of capture {} that can be sent", call.name()));
    }
    in.seekg(0);
    Response response =
        Response::text({std::istreambuf_iterator<char>(in), {}}, "application/vnd.tcpdump.pcap");
    response.headers["Content-Disposition"] =
        fmt::format("attachment; filename=\"capture-{}.pcap\"", *id);
    return response;
}

Response Api::stop_capture(const Call& call) {
    if (!captures_) {
        return Response::error(404, kNoCaptures);
    }
    const auto id = number_of(call.name(), 0, UINT32_MAX);
    return id && captures_->stop(static_cast<std::uint32_t>(*id))
               ? Response::json("{}")
               : Response::error(404, fmt::format("no capture {}", call.name()));
}

}  // namespace softib::server
