// SPDX-License-Identifier: BSD-2-Clause
// Actions of UFM's tree, a row each: which ports and devices they change, and the fields that they
// take.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/base/nearest.h"
#include "server/ufm.h"

namespace softib::server {

namespace {

using telemetry::Inventory;
using telemetry::Node;

std::optional<std::vector<std::string>> ports_of_device(const Inventory& inventory,
                                                        const std::string& id) {
    const auto node = std::ranges::find_if(inventory.nodes, [&](const Node& each) {
        return ufm_guid(each.guid) == id || each.name == id;
    });
    if (node == inventory.nodes.end()) {
        return std::nullopt;
    }
    std::vector<std::string> ports;
    for (std::uint32_t i = 0; i < node->port_count; ++i) {
        ports.push_back(ufm_port_name(inventory, node->port_first + i));
    }
    return ports;
}

}  // namespace

struct Ufm::Action {
    std::string_view name;
    std::string_view object_type;  ///< "System", "Port"; empty: the action has no objects.
    Response (Ufm::*answer)(const Call& call);
};

std::span<const Ufm::Action> Ufm::all_actions() {
    static constexpr Action kActions[] = {
        {"fabric_discovery", "", &Ufm::resweep},
        {"mark_device_unhealthy", "System", &Ufm::isolate_devices},
        {"mark_device_healthy", "System", &Ufm::take_back_devices},
        {"enable", "Port", &Ufm::enable_ports},
        {"disable", "Port", &Ufm::disable_ports},
        {"reset", "Port", &Ufm::reset_ports},
        {"port_enable", "Port", &Ufm::enable_ports},
        {"port_disable", "Port", &Ufm::disable_ports},
        {"port_reset", "Port", &Ufm::reset_ports},
    };
    return kActions;
}

std::vector<Route> Ufm::action_routes() {
    using enum ValueKind;
    return {
        post("/actions/remove_guids_from_pkey", answer_by(this, &Ufm::remove_guids_from),
             "takes GUIDs out of a partition",
             {{"pkey", kText, "", true}, {"guids", kTexts, "", true}}),
        post("/actions/fabric_discovery_refresh", answer_by(this, &Ufm::resweep),
             "a sweep of the subnet manager"),
        post("/actions", answer_by(this, &Ufm::act),
             "202, and in `Location` the job, which is done; a sweep is 200",
             {{"action", kText,
               "`fabric_discovery`: a sweep; `mark_device_unhealthy`, `mark_device_healthy`: all "
               "ports of devices are isolated, or come back; `enable`, `disable`, `reset` (also "
               "`port_…`): of ports",
               true},
              {"object_ids", kTexts, "GUIDs of devices, or ports as `GUID_N`"},
              {"object_type", kText, "`System` or `Port`, as the action needs"},
              {"identifier", kText, "", false, {"id"}},
              {"description", kText, "the summary of the job"},
              {"params", kAny, "of `mark_device_…`: `action` and `device_policy`, as UFM's"}}),
    };
}

/// Finds the row of an action, and refuses fields that this action does not take.
Response Ufm::act(const Call& call) {
    const std::string name = call.field("action", std::string());
    const auto actions = all_actions();
    const auto action = std::ranges::find(actions, name, &Action::name);
    if (action == actions.end()) {
        std::vector<std::string_view> names;
        std::ranges::transform(actions, std::back_inserter(names), &Action::name);
        return Response::error(404, unknown_name("action", name, names));
    }
    const bool has_objects = !action->object_type.empty();
    for (const auto& [field, value] : call.body.items()) {
        // A sweep is no job that could have a description.
        if (field != "action" &&
            (!has_objects || (field == "params" && action->object_type != "System"))) {
            return Response::error(
                400, fmt::format("'{}' is not for the action {}; leave it out", field, name));
        }
    }
    const std::string type = call.field("object_type", std::string(action->object_type));
    if (has_objects && (type != action->object_type || call.texts("object_ids").empty())) {
        return Response::error(400, fmt::format(R"(the action {} needs "object_ids" of {}s)", name,
                                                action->object_type));
    }
    return (this->*action->answer)(call);
}

Response Ufm::resweep(const Call&) {
    if (config_.controls == nullptr) {
        return Response::error(404, "this fabric can only be looked at");
    }
    const auto done = config_.controls->resweep();
    return done ? Response::json("{}") : Response::error(409, done.error());
}

Response Ufm::isolate_devices(const Call& call) {
    return mark_devices(call, false);
}

Response Ufm::take_back_devices(const Call& call) {
    return mark_devices(call, true);
}

Response Ufm::mark_devices(const Call& call, bool healthy) {
    const Json params = call.field("params", Json::object());
    for (const auto& [name, value] : params.items()) {
        const bool fits = name == "device_policy"
                              ? value == (healthy ? "HEALTHY" : "UNHEALTHY")
                              : name == "action" && !healthy && value == "isolate";
        if (!params.is_object() || !fits) {
            return Response::error(400, fmt::format(R"(params of {} are {}"device_policy": "{}")",
                                                    call.field("action", std::string()),
                                                    healthy ? "" : R"("action": "isolate" and )",
                                                    healthy ? "HEALTHY" : "UNHEALTHY"));
        }
    }
    const auto snapshot = config_.collector->snapshot();
    std::vector<std::string> ports;
    for (const std::string& id : call.texts("object_ids")) {
        const auto of_device = ports_of_device(*snapshot->inventory, id);
        if (!of_device) {
            return Response::error(404, fmt::format("no device '{}'; they are named by GUID", id));
        }
        ports.insert(ports.end(), of_device->begin(), of_device->end());
    }
    {
        const std::lock_guard lock(mutex_);
        for (const std::string& port : ports) {
            if (const auto refusal = set_health(*snapshot->inventory, port, healthy)) {
                return *refusal;
            }
        }
        if (Response kept = saved(Response::json("{}")); kept.status != 200) {
            return kept;
        }
    }
    return job_done(call, ports.size());
}

Response Ufm::enable_ports(const Call& call) {
    return set_ports(call, false, true);
}

Response Ufm::disable_ports(const Call& call) {
    return set_ports(call, true, false);
}

Response Ufm::reset_ports(const Call& call) {
    return set_ports(call, true, true);
}

/// Pulls the cables of ports, puts them back, or one after the other.
Response Ufm::set_ports(const Call& call, bool down, bool up) {
    const auto snapshot = config_.collector->snapshot();
    const Inventory& inventory = *snapshot->inventory;
    const std::vector<std::string> names = call.texts("object_ids");
    for (const std::string& name : names) {
        if (!inventory.find_port(name) || config_.controls == nullptr) {
            return Response::error(404, config_.controls == nullptr
                                            ? "this fabric can only be looked at"
                                            : fmt::format("no port '{}'", name));
        }
    }
    for (const std::string& name : names) {
        const std::uint32_t port = *inventory.find_port(name);
        const std::string& node = inventory.node_of(port).name;
        const std::uint8_t number = inventory.ports[port].number;
        const auto pulled =
            down ? config_.controls->set_link(node, number, false) : Controls::Done{};
        const auto back = pulled && up ? config_.controls->set_link(node, number, true) : pulled;
        if (!back) {
            return Response::error(409, back.error());
        }
    }
    return job_done(call, names.size());
}

/// Answers with a job that is already done.
Response Ufm::job_done(const Call& call, std::size_t ports) {
    const std::string description = call.field("description", std::string());
    const std::uint64_t id = add_report(
        {call.field("action", std::string()),
         "Completed",
         fmt::format("{} ports{}{}", ports, description.empty() ? "" : ": ", description),
         Json::object(),
         {}});
    Response response = Response::accepted("{}");
    response.headers["Location"] = fmt::format("/ufmRest/jobs/{}", id);
    return response;
}

}  // namespace softib::server
