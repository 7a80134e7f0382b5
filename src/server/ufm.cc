// SPDX-License-Identifier: BSD-2-Clause
#include "server/ufm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "telemetry/clocks.h"

namespace softib::server {

namespace {

constexpr std::array<std::string_view, 4> kPrefixes{"ufmRest", "ufmRestV2", "ufmRestV3",
                                                    "ufmRestKrb"};
constexpr std::size_t kTextMax = 1000;

Response unknown(const Request& request) {
    return Response::error(
        404, fmt::format("{} {} is not served; see docs/api.md", request.method, request.path));
}

std::string time_text(std::int64_t time_us) {
    const std::time_t seconds = time_us / 1'000'000;
    std::tm local{};
    std::array<char, 32> text{};
    gmtime_r(&seconds, &local);
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local)};
}

Json event_json(const telemetry::Event& event) {
    return {{"id", event.id},
            {"name", event.kind},
            {"object_name", event.object},
            {"object_path", event.object},
            {"severity", to_string(event.severity)},
            {"timestamp", time_text(event.last_us)},
            {"first_timestamp", time_text(event.first_us)},
            {"counter", event.count},
            {"category", event.category},
            {"type", event.kind},
            {"write_to_syslog", false},
            {"description", event.text}};
}

telemetry::Severity severity_of(std::string_view name) {
    using enum telemetry::Severity;
    for (const telemetry::Severity severity : {kWarning, kMinor, kCritical}) {
        if (name == to_string(severity)) {
            return severity;
        }
    }
    return kInfo;
}

/// Returns an isolated port as JSON, by the name that clients know. The port may have left the
/// fabric since.
Json unhealthy_json(const telemetry::Inventory& inventory, const std::string& name,
                    std::int64_t since_us) {
    const auto port = inventory.find_port(name);
    const std::uint32_t peer = port ? inventory.ports[*port].peer : telemetry::kNoIndex;
    const bool cabled = peer != telemetry::kNoIndex;
    return {{"name", name},
            {"description", port ? inventory.port_name(*port) : ""},
            {"peer_name", port ? inventory.peer_name(*port) : ""},
            {"PeerGUID", cabled ? ufm_guid(inventory.ports[peer].guid) : ""},
            {"PeerPortDname", cabled ? std::to_string(inventory.ports[peer].number) : ""},
            {"condition", "MANUAL"},
            {"status", "UNHEALTHY"},
            {"status_time", time_text(since_us)}};
}

Response listed(Json list) {
    return Response::json(to_text(list));
}

}  // namespace

std::string ufm_guid(Guid guid) {
    return to_string(guid).substr(2);
}

std::string ufm_port_name(const telemetry::Inventory& inventory, std::uint32_t port) {
    return fmt::format("{}_{}", ufm_guid(inventory.ports[port].guid), inventory.ports[port].number);
}

bool is_listed(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (list.substr(0, end) == name) {
            return true;
        }
        list.remove_prefix(std::min(end + 1, list.size()));
        if (list.empty()) {
            return false;
        }
    }
    return true;
}

std::optional<std::vector<std::string>> texts_of(const Json& json) {
    if (json.is_string()) {
        return std::vector{json.get<std::string>()};
    }
    if (!json.is_array()) {
        return std::nullopt;
    }
    std::vector<std::string> texts;
    for (const Json& item : json) {
        if (!item.is_string()) {
            return std::nullopt;
        }
        texts.push_back(item.get<std::string>());
    }
    return texts;
}

Response Ufm::handle(const Request& request, std::vector<std::string_view> path) {
    if (!path.empty() && std::ranges::find(kPrefixes, path[0]) != kPrefixes.end()) {
        path.erase(path.begin());
    }
    if (path.empty()) {
        return unknown(request);
    }
    const std::string_view tree = path[0];
    if (tree == "app") {
        return app(request, path);
    }
    if (tree == "resources") {
        return resources(request, path);
    }
    if (tree == "actions") {
        return actions(request, path);
    }
    if (tree == "reports") {
        return reports(request, path);
    }
    if (tree == "jobs") {
        return jobs(request, path);
    }
    if (tree == "Topology_Compare") {
        return topology(request, path);
    }
    if (tree == "fabricValidation") {
        return validation(request, path);
    }
    if ((tree == "monitoring" && path.size() > 1 && path[1] == "aggr_topx") ||
        tree == "telemetry") {
        return top(request);
    }
    return unknown(request);
}

Response Ufm::app(const Request& request, const Path& path) {
    const std::string_view what = path.size() > 1 ? path[1] : std::string_view{};
    if (what == "ufm_version" && !request.is_write()) {
        return Response::json(
            to_text({{"ufm_release_version", config_.version}, {"product", "softib"}}));
    }
    if (what == "tokens" && request.method == "POST") {
        // The client has already sent the token, since it got here, but expects it in the answer.
        return Response::json(to_text({{"access_token", config_.token}}));
    }
    if (what == "events") {
        return events(request, path);
    }
    if (what == "alarms" && !request.is_write()) {
        Json list = Json::array();
        for (const telemetry::Event& event : config_.collector->alarms()) {
            list.push_back(event_json(event));
        }
        return listed(std::move(list));
    }
    if (what == "unhealthy_ports") {
        return unhealthy_ports(request);
    }
    return unknown(request);
}

Response Ufm::events(const Request& request, const Path& path) {
    if (path.size() > 2 && path[2] == "external_event" && request.method == "POST") {
        return external_event(request);
    }
    if (path.size() > 2 && request.method == "DELETE") {
        const auto id = number_of(path[2], 0, UINT64_MAX);
        bool removed = false;
        config_.collector->with_events(
            [&](telemetry::EventBook& book) { removed = id && book.remove(*id); });
        return removed ? Response::json("{}")
                       : Response::error(404, fmt::format("no event {}", path[2]));
    }
    if (request.is_write()) {
        return unknown(request);
    }
    Json list = Json::array();
    for (const telemetry::Event& event : config_.collector->events()) {
        list.push_back(event_json(event));
    }
    return listed(std::move(list));
}

Response Ufm::external_event(const Request& request) {
    const auto body = parse_json(request.body);
    if (!body || !body->is_object() || !body->contains("description") ||
        !(*body)["description"].is_string()) {
        return Response::error(400, "an external event needs a description");
    }
    const auto text = [&](const char* key) {
        const auto found = body->find(key);
        return found != body->end() && found->is_string()
                   ? found->get<std::string>().substr(0, kTextMax)
                   : std::string();
    };
    const auto id = body->find("event_id");
    const std::string kind = id != body->end() && id->is_number_integer()
                                 ? fmt::format("external_{}", id->get<std::int64_t>())
                                 : "external";
    const std::string name = text("external_event_name");
    const std::string object = text("object_name");
    config_.collector->with_events([&](telemetry::EventBook& book) {
        book.raise(
            {severity_of(text("external_event_severity")), name.empty() ? kind : name, "external",
             object.empty() ? text("otype") : object, text("description"), false},
            telemetry::wall_us());
    });
    return Response::json("{}");
}

/// Lists isolated ports, or changes them. The cable of an isolated ("unhealthy") port is down until
/// the port is set healthy again.
Response Ufm::unhealthy_ports(const Request& request) {
    const std::lock_guard lock(mutex_);
    const auto snapshot = config_.collector->snapshot();
    if (!request.is_write()) {
        Json list = Json::array();
        for (const auto& [name, since] : state_.unhealthy) {
            list.push_back(unhealthy_json(*snapshot->inventory, name, since));
        }
        return listed(std::move(list));
    }
    const auto body = parse_json(request.body);
    const bool shaped = body && body->is_object() && body->contains("ports") &&
                        body->contains("ports_policy") && (*body)["ports_policy"].is_string();
    const auto names = shaped ? texts_of((*body)["ports"]) : std::nullopt;
    const std::string policy = shaped ? (*body)["ports_policy"].get<std::string>() : "";
    if (request.method != "PUT" || !names || (policy != "UNHEALTHY" && policy != "HEALTHY")) {
        return Response::error(
            400, R"(PUT {"ports": ["GUID_N"], "ports_policy": "UNHEALTHY" or "HEALTHY"})");
    }
    for (const std::string& name : *names) {
        if (const auto refusal = set_health(*snapshot->inventory, name, policy == "HEALTHY")) {
            return *refusal;
        }
    }
    return saved(Response::json("{}"));
}

std::optional<Response> Ufm::set_health(const telemetry::Inventory& inventory,
                                        const std::string& name, bool healthy) {
    const auto port = inventory.find_port(name);
    if (!port || config_.controls == nullptr) {
        return Response::error(
            404, port ? "this fabric can only be looked at" : fmt::format("no port '{}'", name));
    }
    const auto changed = config_.controls->set_link(inventory.node_of(*port).name,
                                                    inventory.ports[*port].number, healthy);
    if (!changed) {
        return Response::error(409, changed.error());
    }
    const std::string own = ufm_port_name(inventory, *port);
    if (healthy) {
        state_.unhealthy.erase(own);
    } else {
        state_.unhealthy.try_emplace(own, telemetry::wall_us());
    }
    return std::nullopt;
}

Response Ufm::saved(Response response) const {
    return save_client_state(config_.state_file, state_)
               ? std::move(response)
               : Response::error(500, fmt::format("it is done, but will not outlive the fabric: "
                                                  "{} cannot be written",
                                                  config_.state_file));
}

std::vector<std::string> Ufm::restore() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> failed;
    if (config_.controls == nullptr) {
        return failed;
    }
    if (auto refusal = restore_partitions()) {
        failed.push_back(std::move(*refusal));
    }
    const auto snapshot = config_.collector->snapshot();
    for (const auto& [name, since] : std::map(state_.unhealthy)) {
        if (const auto refusal = set_health(*snapshot->inventory, name, false)) {
            failed.push_back(fmt::format("port {} is not isolated: {}", name, refusal->body));
        }
    }
    // If the fabric was ended, the file was removed with its directory, so it is written again.
    if (state_ != ClientState{} && !save_client_state(config_.state_file, state_)) {
        failed.push_back(fmt::format("{} cannot be written", config_.state_file));
    }
    return failed;
}

Response Ufm::actions(const Request& request, const Path& path) {
    const auto body = parse_json(request.body);
    if (request.method != "POST" || !body || !body->is_object()) {
        return Response::error(400, "an action is a POST with JSON");
    }
    if (path.size() > 1 && path[1] == "remove_guids_from_pkey") {
        const bool shaped =
            body->contains("pkey") && (*body)["pkey"].is_string() && body->contains("guids");
        const auto guids = shaped ? texts_of((*body)["guids"]) : std::nullopt;
        const std::lock_guard lock(mutex_);
        return guids ? remove_guids((*body)["pkey"].get<std::string>(), *guids)
                     : Response::error(400, R"(send {"pkey": "0x1", "guids": ["GUID"]})");
    }
    const auto named = body->find("action");
    if (named == body->end() || !named->is_string()) {
        return Response::error(400, R"(send {"action": "NAME"})");
    }
    const auto action = named->get<std::string>();
    if (action == "mark_device_unhealthy" || action == "mark_device_healthy") {
        return mark_devices(*body, action);
    }
    if (action == "fabric_discovery" || action == "reset") {
        if (config_.controls == nullptr) {
            return Response::error(404, "this fabric can only be looked at");
        }
        const auto done = config_.controls->resweep();
        return done ? Response::json("{}") : Response::error(409, done.error());
    }
    return Response::error(404, fmt::format("no action '{}'; there are remove_guids_from_pkey, "
                                            "mark_device_unhealthy, mark_device_healthy, "
                                            "fabric_discovery and reset",
                                            action));
}

/// Sets all ports of devices unhealthy, or healthy again. Answers with a job that is already done.
Response Ufm::mark_devices(const Json& body, const std::string& action) {
    const auto named = body.find("object_ids");
    const auto ids = named == body.end() ? std::nullopt : texts_of(*named);
    if (!ids) {
        return Response::error(400, R"(send {"action": "mark_device_unhealthy", "object_ids": )"
                                    R"(["GUID"]})");
    }
    const auto snapshot = config_.collector->snapshot();
    const telemetry::Inventory& inventory = *snapshot->inventory;
    std::vector<std::string> ports;
    for (const std::string& id : *ids) {
        const auto node = std::ranges::find_if(inventory.nodes, [&](const telemetry::Node& each) {
            return ufm_guid(each.guid) == id || each.name == id;
        });
        if (node == inventory.nodes.end()) {
            return Response::error(404, fmt::format("no device '{}'; they are named by GUID", id));
        }
        for (std::uint32_t i = 0; i < node->port_count; ++i) {
            ports.push_back(ufm_port_name(inventory, node->port_first + i));
        }
    }
    {
        const std::lock_guard lock(mutex_);
        for (const std::string& port : ports) {
            if (const auto refusal = set_health(inventory, port, action == "mark_device_healthy")) {
                return *refusal;
            }
        }
        if (Response kept = saved(Response::json("{}")); kept.status != 200) {
            return kept;
        }
    }
    const std::uint64_t id = add_report(
        {action, "Completed", fmt::format("{} ports", ports.size()), Json::object(), {}});
    Response response = Response::accepted("{}");
    response.headers["Location"] = fmt::format("/ufmRest/jobs/{}", id);
    return response;
}

}  // namespace softib::server
