// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cstring>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"
#include "view/names.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint8_t kNoRoute = 0xFF;

std::expected<std::uint16_t, std::string> parse_in_range(const std::string& what,
                                                         const std::string& text, std::uint32_t min,
                                                         std::uint32_t max) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc{} || rest != end || number < min || number > max) {
        return std::unexpected(
            fmt::format("{} must be a number from {} to {}, not '{}'", what, min, max, text));
    }
    return static_cast<std::uint16_t>(number);
}

int list_switches(const shm::Arena& arena, bool json) {
    Table table({"SWITCH", "LID", "PORTS", "GUID"});
    Json out = Json::array();
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        const std::string guid = softib::to_string(Guid{sw.node_guid});
        table.row({sw.name, std::to_string(sw.lid), std::to_string(sw.port_count - 1), guid});
        out.push_back({{"switch", sw.name},
                       {"lid", sw.lid.load()},
                       {"ports", sw.port_count - 1},
                       {"guid", guid}});
    }
    fmt::print("{}", json ? json_text(out) : table.text());
    return 0;
}

std::string next_node(const shm::Arena& arena, std::uint32_t sw, std::uint8_t port) {
    const shm::SwitchRecord& record = arena.switches[sw];
    if (port == 0) {
        return "itself";
    }
    if (port >= record.port_count) {
        return "-";
    }
    return view::node_name(arena, arena.switch_ports[record.port_first + port].peer);
}

int show(const shm::Arena& arena, std::uint32_t sw, bool json) {
    Table table({"LID", "NODE", "OUT PORT", "NEXT"});
    Json out = Json::array();
    for (std::uint32_t lid = 1; lid <= arena.header->lid_max; ++lid) {
        const std::uint8_t port = arena.lft(sw, Lid{static_cast<std::uint16_t>(lid)}).load();
        const bool routed = port != kNoRoute;
        const std::string node = view::node_name(arena, arena.lid_owner[lid]);
        const std::string next = routed ? next_node(arena, sw, port) : "-";
        table.row({std::to_string(lid), node,
                   routed ? std::to_string(port) : painted("none", Colour::kRed), next});
        out.push_back({{"lid", lid},
                       {"node", node},
                       {"port", routed ? Json(port) : Json()},
                       {"next", routed ? Json(next) : Json()}});
    }
    fmt::print("{}", json ? json_text(out) : table.text());
    return 0;
}

int change(const Observer& observer, std::uint32_t sw, const RouteOptions& options) {
    const shm::Arena& arena = observer.arena();
    const auto lid = parse_in_range("LID", options.lid, 1, arena.header->lid_max);
    if (!lid) {
        return fail(lid.error());
    }
    std::uint16_t port = kNoRoute;
    if (options.action == "set") {
        const auto parsed =
            parse_in_range("PORT", options.port, 0, arena.switches[sw].port_count - 1U);
        if (!parsed) {
            return fail(parsed.error());
        }
        port = *parsed;
    }
    const shm::request::SetRoute request{
        .switch_index = sw, .lid = Lid{*lid}, .port = static_cast<std::uint8_t>(port)};
    if (const int error = observer.ask(request); error != 0) {
        return fail(why_not(error));
    }
    if (options.json) {
        fmt::print("{}", json_text({{"switch", options.switch_name},
                                    {"lid", *lid},
                                    {"port", port == kNoRoute ? Json() : Json(port)}}));
    }
    return 0;
}

}  // namespace

int cmd_route(const RouteOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (auto subnet = check_subnet(*observer); !subnet) {
        return fail(subnet.error());
    }
    if (options.switch_name.empty() && options.action == "show") {
        return list_switches(observer->arena(), options.json);
    }
    const auto sw = find_switch(observer->arena(), options.switch_name);
    if (!sw) {
        return fail(sw.error());
    }
    return options.action == "show" ? show(observer->arena(), *sw, options.json)
                                    : change(*observer, *sw, options);
}

}  // namespace softib::app
