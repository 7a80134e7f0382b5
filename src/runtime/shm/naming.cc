// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/naming.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace softib::shm {

namespace {

template <std::size_t N>
std::string_view text_of(const char (&field)[N]) {
    return {field, strnlen(field, N)};
}

/// Takes the text up to the next comma off the front of `rest`.
std::string_view next_host(std::string_view& rest) {
    const std::size_t comma = rest.find(',');
    const std::string_view host = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    return host;
}

void copy_name(DeviceEntry& entry, std::string_view name) {
    const std::size_t bytes = std::min(name.size(), sizeof entry.name - 1);
    std::memcpy(entry.name, name.data(), bytes);
    std::memset(entry.name + bytes, 0, sizeof entry.name - bytes);
}

void copy_numbered_name(DeviceEntry& entry, std::string_view name, std::size_t number) {
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') {
        name.remove_suffix(1);
    }
    char digits[24];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
    const auto digits_bytes = static_cast<std::size_t>(end.ptr - digits);
    const std::string_view stem = name.substr(0, sizeof entry.name - 1 - digits_bytes);
    copy_name(entry, stem);
    std::memcpy(entry.name + stem.size(), digits, digits_bytes);
}

}  // namespace

std::uint32_t find_host(const Arena& arena, std::string_view name) {
    for (std::uint32_t i = 0; i < arena.header->hosts; ++i) {
        if (text_of(arena.hosts[i].name) == name) {
            return i;
        }
    }
    return UINT32_MAX;
}

std::size_t list_devices(const Arena& arena, std::string_view hosts, std::span<DeviceEntry> out) {
    const bool several = hosts.find(',') != std::string_view::npos;
    std::size_t count = 0;
    do {
        const std::uint32_t host = find_host(arena, next_host(hosts));
        if (host == UINT32_MAX) {
            errno = ENOENT;
            return 0;
        }
        const HostRecord& record = arena.hosts[host];
        for (std::uint32_t i = 0; i < record.hca_count; ++i, ++count) {
            if (count >= out.size()) {
                continue;
            }
            DeviceEntry& entry = out[count];
            entry.hca = record.hca_first + i;
            const std::string_view name = text_of(arena.hcas[entry.hca].name);
            if (several) {
                copy_numbered_name(entry, name, count);
            } else {
                copy_name(entry, name);
            }
        }
    } while (!hosts.empty());
    return count;
}

}  // namespace softib::shm
