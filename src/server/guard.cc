// SPDX-License-Identifier: BSD-2-Clause
#include "server/guard.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace softib::server {

namespace {

constexpr std::size_t kTokenBytes = 24;

/// Returns whether two secrets are equal, in a time that does not reveal where they differ.
bool same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size() || a.empty()) {
        return false;
    }
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference |= static_cast<unsigned>(a[i] ^ b[i]);
    }
    return difference == 0;
}

std::string decode_base64(std::string_view text) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const std::size_t digit = kDigits.find(c);
        if (digit == std::string_view::npos) {
            break;
        }
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<char>(bits >> count & 0xFF));
        }
    }
    return out;
}

/// Returns the host of "http://host:port", with its port.
std::string_view host_of(std::string_view origin) {
    const std::size_t scheme = origin.find("://");
    return scheme == std::string_view::npos ? std::string_view{} : origin.substr(scheme + 3);
}

/// Returns whether the body has an allowed type: JSON, which a form of another site cannot send; or
/// a file, but only for a comparison of topologies, which is safe because such a form cannot send
/// the token either.
bool has_proper_type(const Request& request) {
    const std::string_view type = request.header("content-type");
    return type.starts_with("application/json") ||
           (request.path.ends_with("/Topology_Compare/networkdiff") &&
            type.starts_with("multipart/form-data"));
}

}  // namespace

std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        return end == std::string_view::npos ? std::string_view{} : host.substr(1, end - 1);
    }
    return host.substr(0, host.find(':'));
}

std::string make_token() {
    std::array<std::uint8_t, kTokenBytes> random{};
    std::size_t have = 0;
    while (have < random.size()) {
        const ssize_t got = getrandom(random.data() + have, random.size() - have, 0);
        have += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    std::string token;
    for (const std::uint8_t byte : random) {
        token += fmt::format("{:02x}", byte);
    }
    return token;
}

bool Guard::knows_host(std::string_view host) const {
    const std::string_view name = without_port(host);
    constexpr std::array<std::string_view, 3> kLoopback{"localhost", "127.0.0.1", "::1"};
    return std::ranges::find(kLoopback, name) != kLoopback.end() ||
           std::ranges::find(config_.names, name) != config_.names.end();
}

bool Guard::has_token(std::string_view authorization) const {
    if (authorization.starts_with("Bearer ")) {
        return same_secret(authorization.substr(7), config_.token);
    }
    if (!authorization.starts_with("Basic ")) {
        return false;
    }
    const std::string_view given = authorization.substr(6);
    const std::string decoded = decode_base64(given);
    const std::size_t colon = decoded.find(':');
    return same_secret(given, config_.token) ||
           (colon != std::string::npos &&
            same_secret(std::string_view(decoded).substr(colon + 1), config_.token));
}

std::optional<Response> Guard::check(const Request& request) const {
    if (!knows_host(request.header("host"))) {
        return Response::error(421,
                               "this server does not go by that name; ask for localhost, or "
                               "start it with --name NAME");
    }
    if (!config_.is_loopback && !has_token(request.header("authorization"))) {
        Response refusal = Response::error(
            401, "bring the token that the server was started with: Authorization: Bearer TOKEN");
        refusal.headers["WWW-Authenticate"] = "Basic realm=\"softib\"";
        return refusal;
    }
    return request.is_write() ? check_write(request) : std::nullopt;
}

std::optional<Response> Guard::check_write(const Request& request) const {
    const std::string_view origin = request.header("origin");
    if (!origin.empty() && host_of(origin) != request.header("host")) {
        return Response::error(403, "a page of another site may change nothing here");
    }
    const std::string_view site = request.header("sec-fetch-site");
    if (site == "cross-site" || site == "same-site") {
        return Response::error(403, "a page of another site may change nothing here");
    }
    if (!request.body.empty() && !has_proper_type(request)) {
        return Response::error(415, "send JSON, with Content-Type: application/json");
    }
    if (!config_.allow_control) {
        return Response::error(
            403, "this server only shows; to change the fabric, start it with --allow-control");
    }
    if (!has_token(request.header("authorization"))) {
        Response refusal = Response::error(
            401, "bring the token that softib serve printed: Authorization: Bearer TOKEN");
        refusal.headers["WWW-Authenticate"] = "Basic realm=\"softib\"";
        return refusal;
    }
    return std::nullopt;
}

}  // namespace softib::server
