// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trunk_plan.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace softib::spec {

namespace {

struct Place {
    std::string ip;
    std::uint16_t port = 0;
};

/// Parses "10.0.0.1:7000" or "[fd00::1]:7000".
std::expected<Place, std::string> parse_place(std::string_view text) {
    const auto refused = [&] {
        return std::unexpected(fmt::format(
            "'{}' is no address with a port; write it as 10.0.0.1:7000 or [fd00::1]:7000", text));
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return refused();
    }
    std::string_view ip = text.substr(0, colon);
    const bool v6 = ip.starts_with('[') && ip.ends_with(']');
    if (v6) {
        ip = ip.substr(1, ip.size() - 2);
    }
    Place place{std::string(ip), 0};
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, place.port);
    in6_addr bytes{};
    // The last port is refused, since management takes the next one.
    if (read.ec != std::errc{} || read.ptr != end || place.port == 0 || place.port == UINT16_MAX ||
        inet_pton(v6 ? AF_INET6 : AF_INET, place.ip.c_str(), &bytes) != 1) {
        return refused();
    }
    return place;
}

std::expected<TrunkPlan, std::string> parse_trunk(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::size_t comma = text.find(',');
    if (equals == std::string_view::npos || equals == 0 || comma == std::string_view::npos ||
        comma < equals) {
        return std::unexpected(
            fmt::format("'{}' is no trunk; write it as SWITCH=IP:PORT,PEER-IP:PORT", text));
    }
    const auto local = parse_place(text.substr(equals + 1, comma - equals - 1));
    if (!local) {
        return std::unexpected(local.error());
    }
    const auto peer = parse_place(text.substr(comma + 1));
    if (!peer) {
        return std::unexpected(peer.error());
    }
    if ((local->ip.find(':') == std::string::npos) != (peer->ip.find(':') == std::string::npos)) {
        return std::unexpected(fmt::format("'{}': both ends need IPv4, or both IPv6", text));
    }
    return TrunkPlan{std::string(text.substr(0, equals)), local->ip, local->port, peer->ip,
                     peer->port};
}

}  // namespace

std::expected<std::vector<TrunkPlan>, std::string> parse_trunks(std::string_view text) {
    std::vector<TrunkPlan> plans;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end != 0) {
            auto plan = parse_trunk(text.substr(0, end));
            if (!plan) {
                return std::unexpected(plan.error());
            }
            plans.push_back(std::move(*plan));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return plans;
}

std::expected<SipKey, std::string> read_trunk_key(const std::string& file) {
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st{};
    if (fd < 0 || fstat(fd, &st) != 0) {
        const int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return std::unexpected(
            fmt::format("cannot read the trunk's key {}: {}", file, std::strerror(error)));
    }
    constexpr std::size_t kDigits = 2 * std::tuple_size_v<SipKey>;
    std::array<char, kDigits + 2> text{};
    const ssize_t bytes = read(fd, text.data(), text.size());
    close(fd);
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return std::unexpected(
            fmt::format("others may read the trunk's key {}; first: chmod 600 {}", file, file));
    }
    SipKey key{};
    bool good = bytes == kDigits || (bytes == kDigits + 1 && text[kDigits] == '\n');
    for (std::size_t i = 0; good && i < key.size(); ++i) {
        const char* const at = &text[2 * i];
        const auto done = std::from_chars(at, at + 2, key[i], 16);
        good = done.ec == std::errc{} && done.ptr == at + 2;
    }
    if (!good) {
        return std::unexpected(fmt::format(
            "{} has no key for a trunk: it needs 32 hexadecimal digits, as openssl rand -hex 16 "
            "makes them",
            file));
    }
    return key;
}

}  // namespace softib::spec
