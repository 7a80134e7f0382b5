// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/cm/address_map.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "core/cm/address.h"
#include "runtime/shm/naming.h"

namespace softib::daemon {

namespace {

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string_view::npos
               ? std::string_view{}
               : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<cm::Address> parse_address(const std::string& text) {
    cm::Address address;
    if (inet_pton(AF_INET, text.c_str(), address.bytes.bytes.data()) == 1) {
        address.family = cm::Family::kIp4;
    } else if (inet_pton(AF_INET6, text.c_str(), address.bytes.bytes.data()) == 1) {
        address.family = cm::Family::kIp6;
    } else {
        return std::nullopt;
    }
    return address;
}

/// Returns the HCA that HOST (its first HCA) or HOST/DEVICE names, or UINT32_MAX if there is none.
std::uint32_t find_named(const shm::Arena& arena, std::string_view name) {
    const std::size_t slash = name.find('/');
    const std::uint32_t host = find_host(arena, name.substr(0, slash));
    if (host == UINT32_MAX) {
        return UINT32_MAX;
    }
    const shm::HostRecord& record = arena.hosts[host];
    for (std::uint32_t i = 0; i < record.hca_count; ++i) {
        if (slash == std::string_view::npos ||
            name.substr(slash + 1) == arena.hcas[record.hca_first + i].name) {
            return record.hca_first + i;
        }
    }
    return UINT32_MAX;
}

}  // namespace

std::expected<AddressMap, std::string> AddressMap::parse(const shm::Arena& arena,
                                                         std::string_view text) {
    AddressMap map;
    while (!trimmed(text).empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view entry = trimmed(text.substr(0, comma));
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
        const std::size_t equals = entry.find('=');
        const auto address = parse_address(std::string(trimmed(entry.substr(0, equals))));
        if (equals == std::string_view::npos || !address || cm::is_any(*address) ||
            cm::is_multicast(*address)) {
            return std::unexpected(
                fmt::format("--addresses: '{}' is not IP=HOST or IP=HOST/DEVICE", entry));
        }
        const std::string_view name = trimmed(entry.substr(equals + 1));
        const std::uint32_t hca = find_named(arena, name);
        if (hca == UINT32_MAX) {
            return std::unexpected(fmt::format(
                "--addresses names '{}', which is no host or device; they are in: softib status -v",
                name));
        }
        if (map.find(*address) != UINT32_MAX) {
            return std::unexpected(fmt::format(
                "--addresses: {} is there twice: leave one of them out", cm::to_string(*address)));
        }
        map.entries_.push_back({*address, hca});
    }
    return map;
}

std::uint32_t AddressMap::find(const cm::Address& address) const {
    for (const Entry& entry : entries_) {
        if (cm::same_host(entry.address, address)) {
            return entry.hca;
        }
    }
    return UINT32_MAX;
}

std::optional<cm::Address> AddressMap::address_of(std::uint32_t hca) const {
    for (const Entry& entry : entries_) {
        if (entry.hca == hca && entry.address.family == cm::Family::kIp4) {
            return entry.address;
        }
    }
    return std::nullopt;
}

}  // namespace softib::daemon
