// SPDX-License-Identifier: BSD-2-Clause
#include "server/ufm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <utility>

#include "telemetry/clocks.h"

namespace softib::server {

namespace {

constexpr std::size_t kTextMax = 1000;

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

std::optional<telemetry::Severity> severity_of(std::string_view name) {
    const auto lower = [](std::string text) {
        std::ranges::transform(text, text.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text;
    };
    using enum telemetry::Severity;
    for (const telemetry::Severity severity : {kInfo, kWarning, kMinor, kCritical}) {
        if (lower(std::string(name)) == lower(to_string(severity))) {
            return severity;
        }
    }
    return std::nullopt;
}

const std::vector<std::string_view> kSeverities{"Info", "Warning", "Minor", "Critical"};

/// The parameters by which clients choose events.
std::vector<Parameter> event_filters() {
    return {{"severity", ValueKind::kText, "", false, kSeverities},
            {"type", ValueKind::kText, "as in `type`"},
            {"category", ValueKind::kText, "as in `category`"},
            {"object_name", ValueKind::kText, "as in `object_name`"},
            kPageNumber,
            kPageRows,
            {"group", ValueKind::kText, "", false, {}, "events belong to no groups"}};
}

/// Answers with the events that the call asks for.
Response chosen(const Call& call, const std::vector<telemetry::Event>& events) {
    Json list = Json::array();
    for (const telemetry::Event& event : events) {
        const auto is_asked = [&](const char* parameter, std::string_view value) {
            return !call.has(parameter) || call.text(parameter) == value;
        };
        if (is_asked("severity", to_string(event.severity)) && is_asked("type", event.kind) &&
            is_asked("category", event.category) && is_asked("object_name", event.object)) {
            list.push_back(event_json(event));
        }
    }
    return paged(call, std::move(list));
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

}  // namespace

const Parameter kPageNumber{"page_number", ValueKind::kNumber, "from 1"};
const Parameter kPageRows{"rpp", ValueKind::kNumber, "rows of a page"};

Response paged(const Call& call, Json list) {
    if (!call.has("page_number") && !call.has("rpp")) {
        return Response::json(to_text(list));
    }
    const std::uint64_t page = number_of(call.text("page_number"), 1, UINT64_MAX).value_or(1);
    const std::uint64_t rows = number_of(call.text("rpp"), UINT64_MAX, UINT64_MAX).value_or(1);
    if (page == 0 || rows == 0) {
        return Response::error(400, "page_number and rpp are at least 1");
    }
    Json data = Json::array();
    if ((page - 1) <= list.size() / rows) {
        const std::size_t first = (page - 1) * rows;
        for (std::size_t i = first; i < list.size() && i - first < rows; ++i) {
            data.push_back(std::move(list[i]));
        }
    }
    return Response::json(to_text({{"data", std::move(data)}}));
}

void append(std::vector<Route>& routes, std::vector<Route> more) {
    std::ranges::move(more, std::back_inserter(routes));
}

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

std::vector<std::string> split_list(std::string_view list) {
    std::vector<std::string> items;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (end != 0) {
            items.emplace_back(list.substr(0, end));
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return items;
}

std::vector<Route> Ufm::routes() {
    std::vector<Route> all = app_routes();
    append(all, resource_routes());
    append(all, pkey_routes());
    append(all, action_routes());
    all.push_back(top_route());
    append(all, report_routes());
    return all;
}

std::vector<Route> Ufm::app_routes() {
    using enum ValueKind;
    return {
        get("/app/ufm_version", answer_by(this, &Ufm::version), "the version"),
        post("/app/tokens", answer_by(this, &Ufm::access_token),
             "the token, to a client that sent it"),
        get("/app/events", answer_by(this, &Ufm::events), "events", event_filters()),
        get("/app/alarms", answer_by(this, &Ufm::alarms), "the alarms that are active",
            event_filters()),
        post("/app/events/external_event", answer_by(this, &Ufm::external_event),
             "an event that a client has seen",
             {{"description", kText, "", true},
              {"event_id", kNumber},
              {"severity", kText, "Info, Warning, Minor or Critical"},
              {"external_event_severity", kText, "the same"},
              {"external_event_name", kText, "the event's `name`"},
              {"external_event_type", kText, "its `category`"},
              {"external_event_source", kText, "appended to its `description`"},
              {"object_name", kText, "its `object_name`"},
              {"otype", kText, "appended too"}}),
        get("/app/events/{id}", answer_by(this, &Ufm::event), "an event"),
        remove("/app/events/{id}", answer_by(this, &Ufm::remove_event), "forgets an event"),
        get("/app/unhealthy_ports", answer_by(this, &Ufm::unhealthy_ports),
            "ports that a client isolated: their cables are down until they are `HEALTHY`"),
        put("/app/unhealthy_ports", answer_by(this, &Ufm::mark_ports),
            "isolates ports, or takes them back",
            {{"ports", kTexts, "`GUID_N`", true},
             {"ports_policy", kText, "", true, {"UNHEALTHY", "HEALTHY"}},
             {"action", kText, "of `UNHEALTHY`", false, {"isolate"}}}),
    };
}

Response Ufm::version(const Call&) const {
    return Response::json(
        to_text({{"ufm_release_version", config_.version}, {"product", "softib"}}));
}

Response Ufm::access_token(const Call&) const {
    // The client has already sent the token, since it got here, but expects it in the answer.
    return Response::json(to_text({{"access_token", config_.token}}));
}

Response Ufm::events(const Call& call) const {
    return chosen(call, config_.collector->events());
}

Response Ufm::alarms(const Call& call) const {
    return chosen(call, config_.collector->alarms());
}

Response Ufm::event(const Call& call) const {
    const auto id = number_of(call.name(), 0, UINT64_MAX);
    for (const telemetry::Event& event : config_.collector->events()) {
        if (id == event.id) {
            return Response::json(to_text(event_json(event)));
        }
    }
    return Response::error(404, fmt::format("no event {}", call.name()));
}

Response Ufm::remove_event(const Call& call) {
    const auto id = number_of(call.name(), 0, UINT64_MAX);
    bool removed = false;
    config_.collector->with_events(
        [&](telemetry::EventBook& book) { removed = id && book.remove(*id); });
    return removed ? Response::json("{}")
                   : Response::error(404, fmt::format("no event {}", call.name()));
}

Response Ufm::external_event(const Call& call) {
    const auto text = [&](const char* key) {
        return call.field(key, std::string()).substr(0, kTextMax);
    };
    const std::string named = text("severity");
    const std::string other = text("external_event_severity");
    const auto severity = severity_of(named.empty() ? other.empty() ? "Info" : other : named);
    if (!severity || (!other.empty() && !severity_of(other))) {
        return Response::error(400, "severity is Info, Warning, Minor or Critical");
    }
    if (!named.empty() && !other.empty() && severity_of(other) != severity) {
        return Response::error(
            400, "'severity' and 'external_event_severity' differ; leave one of them out");
    }
    const std::string kind =
        call.body.contains("event_id")
            ? fmt::format("external_{}", call.field<std::uint64_t>("event_id", 0))
            : "external";
    const std::string name = text("external_event_name");
    const std::string category = text("external_event_type");
    const std::string object = text("object_name");
    const std::string type = text("otype");
    const std::string source = text("external_event_source");
    std::string description = text("description");
    if (!type.empty() || !source.empty()) {
        description +=
            fmt::format(" ({}{}{})", type, type.empty() || source.empty() ? "" : ", ", source);
    }
    config_.collector->with_events([&](telemetry::EventBook& book) {
        book.raise({*severity, name.empty() ? kind : name, category.empty() ? "external" : category,
                    object, description, false},
                   telemetry::wall_us());
    });
    return Response::json("{}");
}

Response Ufm::unhealthy_ports(const Call&) {
    const std::lock_guard lock(mutex_);
    const auto snapshot = config_.collector->snapshot();
    Json list = Json::array();
    for (const auto& [name, since] : state_.unhealthy) {
        list.push_back(unhealthy_json(*snapshot->inventory, name, since));
    }
    return Response::json(to_text(list));
}

/// Isolates ports, or takes them back. The cable of an isolated ("unhealthy") port is down until
/// the port is set healthy again.
Response Ufm::mark_ports(const Call& call) {
    const bool healthy = call.field("ports_policy", std::string()) == "HEALTHY";
    if (healthy && call.body.contains("action")) {
        return Response::error(400, "'action' is for the policy UNHEALTHY; leave it out");
    }
    if (call.texts("ports").empty()) {
        return Response::error(400, "'ports' is empty: name ports as GUID_N");
    }
    const std::lock_guard lock(mutex_);
    const auto snapshot = config_.collector->snapshot();
    for (const std::string& name : call.texts("ports")) {
        if (const auto refusal = set_health(*snapshot->inventory, name, healthy)) {
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

}  // namespace softib::server
