// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A request and its response, independent of the HTTP library, which only front.cc uses. Code that
// answers requests turns a Request into a Response, and tests call it in the same way.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softib::server {

struct Request {
    std::string method = "GET";
    std::string path;                            ///< Decoded, without the query.
    std::map<std::string, std::string> query;    ///< Decoded; the last of several with one name.
    std::map<std::string, std::string> headers;  ///< Names in lower case.
    std::string body{};
    std::string repeated{};  ///< A parameter that the query has several times; empty: none.

    /// Returns the value of a header; empty if the request has none of this name.
    std::string_view header(const std::string& name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string_view{} : std::string_view(found->second);
    }
    std::string_view parameter(const std::string& name) const {
        const auto found = query.find(name);
        return found == query.end() ? std::string_view{} : std::string_view(found->second);
    }
    bool is_write() const { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }
};

struct Response {
    int status = 200;
    std::string type = "application/json";
    std::string body{};
    std::map<std::string, std::string> headers{};
    /// Whether the answer is the event stream, which front.cc writes after `stream_after`: the last
    /// message that the client has seen.
    bool is_stream = false;
    std::optional<std::uint64_t> stream_after{};

    static Response json(std::string text) {
        return {.status = 200, .type = "application/json", .body = std::move(text)};
    }
    /// Returns status 202: the work is under way or done, and UFM's clients ask for it later.
    static Response accepted(std::string text) {
        return {.status = 202, .type = "application/json", .body = std::move(text)};
    }
    static Response text(std::string text, std::string type) {
        return {.status = 200, .type = std::move(type), .body = std::move(text)};
    }
    /// Returns an error with a sentence that says what to do, as {"error": …}.
    static Response error(int status, std::string_view sentence);
};

/// Returns the parts of a path between its slashes, without empty ones.
std::vector<std::string_view> split_path(std::string_view path);

/// Reads a decimal number of a query. Returns `fallback` if the text is empty, std::nullopt if it
/// is no number or larger than `most`.
std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t fallback,
                                       std::uint64_t most);

}  // namespace softib::server
