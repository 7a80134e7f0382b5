// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/ids.h"

#include <fmt/format.h>

namespace softib {

namespace {

std::uint64_t load_be64(const std::uint8_t* p) {
    std::uint64_t v = 0;
    for (int i = 0; i < 8; ++i) {
        v = v << 8 | p[i];
    }
    return v;
}

void store_be64(std::uint8_t* p, std::uint64_t v) {
    for (int i = 7; i >= 0; --i) {
        p[i] = static_cast<std::uint8_t>(v);
        v >>= 8;
    }
}

}  // namespace

Gid Gid::from(std::uint64_t subnet_prefix, Guid interface_id) {
    Gid gid;
    store_be64(gid.bytes.data(), subnet_prefix);
    store_be64(gid.bytes.data() + 8, interface_id.value);
    return gid;
}

std::uint64_t Gid::subnet_prefix() const {
    return load_be64(bytes.data());
}

Guid Gid::interface_id() const {
    return Guid{load_be64(bytes.data() + 8)};
}

std::string to_string(Guid guid) {
    return fmt::format("{:#018x}", guid.value);
}

std::string to_string_colons(Guid guid) {
    const std::uint64_t v = guid.value;
    return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", v >> 48, v >> 32 & 0xFFFF, v >> 16 & 0xFFFF,
                       v & 0xFFFF);
}

std::string to_string(const Gid& gid) {
    return to_string_colons(Guid{gid.subnet_prefix()}) + ":" + to_string_colons(gid.interface_id());
}

}  // namespace softib
