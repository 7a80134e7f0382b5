// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A REST route as one row of a table: method, path, the query parameters and JSON fields that it
// takes, and the function that answers. Router (router.h) answers by these rows, refuses what no
// row takes, and writes the tables of docs/api.md from them.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http.h"
#include "server/json.h"

namespace softib::server {

enum class ValueKind : std::uint8_t {
    kText,
    kNumber,  ///< A whole number, not negative.
    kReal,
    kFlag,   ///< The words true and false; those of a query in any case, as Python writes them.
    kTexts,  ///< A list of texts, or one text.
    kAny,    ///< A value that the handler checks.
};

/// A query parameter, or a field of the JSON object in a body.
struct Parameter {
    std::string_view name;
    ValueKind kind = ValueKind::kText;
    std::string_view means{};  ///< For docs/api.md.
    bool is_needed = false;
    std::vector<std::string_view> choices{};  ///< The values of a text; empty: any.
    /// Why this server does not implement a parameter that clients know; empty: it does. A request
    /// with such a parameter is refused, unless it is a flag that is false.
    std::string_view unserved{};
};

/// A request whose parameters and fields are those of its route, each of the right kind.
struct Call {
    const Request& request;
    std::vector<std::string_view> names{};  ///< The parts of the path that the row has in braces.
    Json body = Json::object();             ///< Without those that are not needed and null.

    std::string_view name(std::size_t i = 0) const {
        return i < names.size() ? names[i] : std::string_view{};
    }
    std::string_view text(const char* parameter) const { return request.parameter(parameter); }
    bool has(const char* parameter) const { return request.query.contains(parameter); }
    bool flag(const char* parameter, bool otherwise = false) const;
    /// Returns the texts of a field; a single text is a list of one.
    std::vector<std::string> texts(const char* name) const;
    /// Returns a field of the body, or `otherwise` if the body does not have it.
    template <typename T>
    T field(const char* name, T otherwise) const {
        return body.value(name, std::move(otherwise));
    }
};

using Handler = std::function<Response(const Call&)>;

struct Route {
    std::string_view method;  ///< "GET" answers HEAD too.
    /// "/api/v1/ports/{port...}/history": a part in braces is any name; with "..." it may have
    /// slashes.
    std::string_view path;
    Handler handler;
    std::string_view answer;  ///< For docs/api.md.
    std::vector<Parameter> query = {};
    std::vector<Parameter> fields = {};
    bool takes_file = false;  ///< Whether the body is a file instead of JSON.
};

// The rows of a table.
inline Route get(std::string_view path, Handler handler, std::string_view answer,
                 std::vector<Parameter> query = {}) {
    return {"GET", path, std::move(handler), answer, std::move(query)};
}
inline Route post(std::string_view path, Handler handler, std::string_view answer,
                  std::vector<Parameter> fields = {}, std::vector<Parameter> query = {}) {
    return {"POST", path, std::move(handler), answer, std::move(query), std::move(fields)};
}
inline Route put(std::string_view path, Handler handler, std::string_view answer,
                 std::vector<Parameter> fields = {}) {
    return {"PUT", path, std::move(handler), answer, {}, std::move(fields)};
}
inline Route remove(std::string_view path, Handler handler, std::string_view answer) {
    return {"DELETE", path, std::move(handler), answer};
}

/// The answer of a row that takes and answers the same as the row before it.
inline constexpr std::string_view kSameAnswer = "the same";

/// Returns the handler that calls a member function of an object, which must outlive it.
template <typename T, typename Member>
Handler answer_by(T* object, Member member) {
    return [object, member](const Call& call) { return (object->*member)(call); };
}

/// Returns the boolean of a query's text; std::nullopt if it is neither true nor false.
std::optional<bool> flag_of(std::string_view text);

}  // namespace softib::server
