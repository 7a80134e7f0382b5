// SPDX-License-Identifier: BSD-2-Clause
#include "server/router.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "core/base/nearest.h"

namespace softib::server {

namespace {

using Parts = std::span<const std::string_view>;

bool is_rest(std::string_view part) {
    return part.ends_with("...}");
}

/// Returns the text of several parts of a path, with the slashes between them.
std::string_view joined(Parts parts) {
    const char* const begin = parts.front().data();
    return {begin, static_cast<std::size_t>(parts.back().data() + parts.back().size() - begin)};
}

/// Returns whether a path is one of a row's, and adds its names to the list.
bool matches(Parts pattern, Parts path, std::vector<std::string_view>& names) {
    if (pattern.empty() || path.empty()) {
        return pattern.empty() && path.empty();
    }
    if (!pattern[0].starts_with('{')) {
        return pattern[0] == path[0] && matches(pattern.subspan(1), path.subspan(1), names);
    }
    for (std::size_t taken = is_rest(pattern[0]) ? path.size() : 1; taken > 0; --taken) {
        names.push_back(joined(path.first(taken)));
        if (matches(pattern.subspan(1), path.subspan(taken), names)) {
            return true;
        }
        names.pop_back();
    }
    return false;
}

Response refused(std::string sentence) {
    return Response::error(400, sentence);
}

/// Returns an error for a name that a row does not take.
Response unknown(std::string_view what, std::string_view name,
                 const std::vector<Parameter>& known) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : known) {
        if (parameter.unserved.empty()) {
            names.push_back(parameter.name);
        }
    }
    return refused(names.empty()
                       ? fmt::format("this request takes no {}s; leave '{}' out", what, name)
                       : unknown_name(what, name, names));
}

Response unserved(const Parameter& parameter) {
    return refused(
        fmt::format("'{}' is not implemented here: {}", parameter.name, parameter.unserved));
}

std::string wanted_of(const Parameter& parameter) {
    if (!parameter.choices.empty()) {
        return fmt::format("{}", fmt::join(parameter.choices, ", "));
    }
    switch (parameter.kind) {
        case ValueKind::kNumber:
            return "a whole number";
        case ValueKind::kReal:
            return "a number";
        case ValueKind::kFlag:
            return "true or false";
        case ValueKind::kTexts:
            return "a list of texts";
        default:
            return "a text";
    }
}

Response wrong(const Parameter& parameter, std::string_view given) {
    return refused(fmt::format("{} must be {}{}, not {}", parameter.name,
                               parameter.choices.empty() ? "" : "one of ", wanted_of(parameter),
                               given));
}

bool is_choice(const Parameter& parameter, std::string_view text) {
    return parameter.choices.empty() ||
           std::ranges::find(parameter.choices, text) != parameter.choices.end();
}

bool is_real(std::string_view text) {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && rest == text.data() + text.size() && std::isfinite(value);
}

bool is_right_text(const Parameter& parameter, std::string_view text) {
    switch (parameter.kind) {
        case ValueKind::kNumber:
            return !text.empty() && number_of(text, 0, UINT64_MAX).has_value();
        case ValueKind::kReal:
            return is_real(text);
        case ValueKind::kFlag:
            return flag_of(text).has_value();
        default:
            return !text.empty() && is_choice(parameter, text);
    }
}

bool is_right(const Parameter& parameter, const Json& value) {
    switch (parameter.kind) {
        case ValueKind::kText:
            return value.is_string() && is_choice(parameter, value.get_ref<const std::string&>());
        case ValueKind::kNumber:
            return value.is_number_unsigned();
        case ValueKind::kReal:
            return value.is_number();
        case ValueKind::kFlag:
            return value.is_boolean();
        case ValueKind::kTexts:
            return value.is_string() ||
                   (value.is_array() &&
                    std::ranges::all_of(value, [](auto& each) { return each.is_string(); }));
        case ValueKind::kAny:
            break;
    }
    return true;
}

const Parameter* find(const std::vector<Parameter>& parameters, std::string_view name) {
    const auto found = std::ranges::find(parameters, name, &Parameter::name);
    return found == parameters.end() ? nullptr : &*found;
}

std::optional<Response> check_query(const Route& route, const Request& request) {
    if (!request.repeated.empty()) {
        return refused(fmt::format("'{}' is in the query twice", request.repeated));
    }
    for (const auto& [name, text] : request.query) {
        const Parameter* const parameter = find(route.query, name);
        if (parameter == nullptr) {
            return unknown("query parameter", name, route.query);
        }
        if (!parameter->unserved.empty()) {
            if (parameter->kind == ValueKind::kFlag && flag_of(text) == false) {
                continue;
            }
            return unserved(*parameter);
        }
        if (!is_right_text(*parameter, text)) {
            return wrong(*parameter, fmt::format("'{}'", text));
        }
    }
    return std::nullopt;
}

std::optional<Response> check_needed(const Route& route, const Request& request) {
    for (const Parameter& parameter : route.query) {
        if (parameter.is_needed && request.parameter(std::string(parameter.name)).empty()) {
            return refused(
                fmt::format("this request needs ?{}=, {}", parameter.name, parameter.means));
        }
    }
    return std::nullopt;
}

std::string example_of(const Route& route) {
    std::vector<std::string> names;
    for (const Parameter& field : route.fields) {
        if (field.unserved.empty()) {
            names.push_back(fmt::format("{}{}", field.name, field.is_needed ? "" : " (optional)"));
        }
    }
    return names.empty() ? "send an empty JSON object, {}, or nothing"
                         : fmt::format("send a JSON object with: {}", fmt::join(names, ", "));
}

/// Reads the JSON object of a request into the call, and checks its fields.
std::optional<Response> read_body(const Route& route, Call& call) {
    if (route.takes_file) {
        return std::nullopt;
    }
    if (!call.request.body.empty()) {
        auto body = parse_json(call.request.body);
        // "null" is what libraries send if a program gives them no body.
        if (!body || !(body->is_object() || body->is_null())) {
            return refused(example_of(route));
        }
        if (const std::string twice = repeated_field(call.request.body); !twice.empty()) {
            return refused(fmt::format("the field '{}' is there twice", twice));
        }
        call.body = body->is_null() ? Json::object() : *std::move(body);
    }
    Json given = Json::object();
    for (const auto& [name, value] : call.body.items()) {
        const Parameter* const field = find(route.fields, name);
        if (field == nullptr) {
            return unknown("field", name, route.fields);
        }
        if (value.is_null() && field->kind != ValueKind::kAny) {
            continue;
        }
        given[name] = value;
        if (!field->unserved.empty() && value != false) {
            return unserved(*field);
        }
        if (field->unserved.empty() && !is_right(*field, value)) {
            return wrong(*field, to_text(value));
        }
    }
    call.body = std::move(given);
    for (const Parameter& field : route.fields) {
        if (field.is_needed && !call.body.contains(field.name)) {
            return refused(
                fmt::format("the field '{}' is missing; {}", field.name, example_of(route)));
        }
    }
    return std::nullopt;
}

Response answer(const Route& route, const Request& request, std::vector<std::string_view> names) {
    Call call{.request = request, .names = std::move(names)};
    if (auto refusal = check_query(route, request)) {
        return *std::move(refusal);
    }
    if (auto refusal = read_body(route, call)) {
        return *std::move(refusal);
    }
    if (auto refusal = check_needed(route, request)) {
        return *std::move(refusal);
    }
    return route.handler(call);
}

}  // namespace

std::optional<bool> flag_of(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower == "true"    ? std::optional(true)
           : lower == "false" ? std::optional(false)
                              : std::nullopt;
}

bool Call::flag(const char* parameter, bool otherwise) const {
    return flag_of(text(parameter)).value_or(otherwise);
}

std::vector<std::string> Call::texts(const char* name) const {
    const auto found = body.find(name);
    if (found == body.end()) {
        return {};
    }
    return found->is_string() ? std::vector{found->get<std::string>()}
                              : found->get<std::vector<std::string>>();
}

Response Router::handle(const Request& request) const {
    const std::string_view given = request.method;
    const std::string_view method = given == "HEAD" ? "GET" : given;
    const std::vector<std::string_view> all = split_path(request.path);
    std::set<std::string_view> methods;
    for (const Table& table : tables_) {
        Parts path(all);
        if (!path.empty() && std::ranges::find(table.prefixes, path[0]) != table.prefixes.end()) {
            path = path.subspan(1);
        }
        for (const Route& route : table.routes) {
            std::vector<std::string_view> names;
            if (!matches(split_path(route.path), path, names)) {
                continue;
            }
            if (route.method == method) {
                return answer(route, request, std::move(names));
            }
            methods.insert(route.method);
        }
    }
    if (methods.empty()) {
        return Response::error(404, fmt::format("nothing is at {}; see docs/api.md", request.path));
    }
    if (methods.contains("GET")) {
        methods.insert("HEAD");
    }
    const std::string allowed = fmt::format("{}", fmt::join(methods, ", "));
    Response refusal = Response::error(
        405, fmt::format("{} takes {}, not {}", request.path, allowed, request.method));
    refusal.headers["Allow"] = allowed;
    return refusal;
}

namespace {

/// Returns "`name` what it means; `other` what it means", and the names that are refused.
std::string list_of(const std::vector<Parameter>& parameters) {
    std::vector<std::string> taken;
    std::vector<std::string> left;
    for (const Parameter& parameter : parameters) {
        std::vector<std::string_view> choices = parameter.choices;
        if (!parameter.unserved.empty()) {
            left.push_back(fmt::format("`{}` ({})", parameter.name, parameter.unserved));
        } else {
            taken.push_back(fmt::format(
                "`{}`{}{}{}", parameter.name, choices.empty() ? "" : " (",
                choices.empty() ? "" : fmt::format("{})", fmt::join(choices, ", ")),
                parameter.means.empty() ? std::string() : fmt::format(" {}", parameter.means)));
        }
    }
    std::string text = fmt::format("{}", fmt::join(taken, "; "));
    if (!left.empty()) {
        text += fmt::format("{}Refused: {}", text.empty() ? "" : ". ", fmt::join(left, ", "));
    }
    return text;
}

}  // namespace

std::string markdown(const Router::Table& table) {
    std::string text = "| request | query parameters | JSON fields | answer |\n|---|---|---|---|\n";
    for (std::size_t i = 0; i < table.routes.size(); ++i) {
        const Route& route = table.routes[i];
        std::string requests = fmt::format("`{} {}`", route.method, route.path);
        while (i + 1 < table.routes.size() && table.routes[i + 1].answer == kSameAnswer) {
            ++i;
            requests += fmt::format(", `{} {}`", table.routes[i].method, table.routes[i].path);
        }
        text += fmt::format("| {} | {} | {} | {} |\n", requests, list_of(route.query),
                            list_of(route.fields), route.answer);
    }
    return text;
}

}  // namespace softib::server
