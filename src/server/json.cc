// SPDX-License-Identifier: BSD-2-Clause
#include "server/json.h"

#include <set>
#include <vector>

namespace softib::server {

std::string to_text(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Json> parse_json(std::string_view text) {
    int depth = 0;
    bool too_deep = false;
    const Json parsed = Json::parse(
        text,
        [&](int at, Json::parse_event_t, Json&) {
            depth = at;
            too_deep = too_deep || at > kJsonDepthMax;
            return !too_deep;
        },
        false);
    if (parsed.is_discarded() || too_deep) {
        return std::nullopt;
    }
    return parsed;
}

std::string repeated_field(std::string_view text) {
    std::vector<std::set<std::string>> open;
    std::string twice;
    const Json whole = Json::parse(
        text,
        [&](int, Json::parse_event_t event, Json& parsed) {
            if (event == Json::parse_event_t::object_start) {
                open.emplace_back();
            } else if (event == Json::parse_event_t::object_end) {
                open.pop_back();
            } else if (event == Json::parse_event_t::key &&
                       !open.back().insert(parsed.get<std::string>()).second && twice.empty()) {
                twice = parsed.get<std::string>();
            }
            return true;
        },
        false);
    return whole.is_discarded() ? std::string() : twice;
}

Json to_json(const telemetry::Event& event) {
    return {{"id", event.id},
            {"revision", event.revision},
            {"severity", to_string(event.severity)},
            {"kind", event.kind},
            {"category", event.category},
            {"object", event.object},
            {"peer", event.peer},
            {"text", event.text},
            {"remedy", telemetry::remedy_of(event.kind)},
            {"first_us", event.first_us},
            {"last_us", event.last_us},
            {"count", event.count},
            {"alarm", event.alarm},
            {"active", event.active}};
}

}  // namespace softib::server
