// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/link_name.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/shm/protocol.h"

namespace softib::app {

std::expected<LinkName, std::string> parse_link(const std::string& text) {
    LinkName name{.node = text};
    if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
        const char* const end = text.data() + text.size();
        const auto [rest, bad] = std::from_chars(text.data() + colon + 1, end, name.port);
        if (bad != std::errc{} || rest != end || name.port == 0) {
            return std::unexpected(fmt::format("'{}' has no port number after the colon", text));
        }
        name.node.resize(colon);
    }
    if (name.node.empty() || name.node.size() > shm::kTextMax / 2) {
        return std::unexpected(fmt::format("'{}' is no node and port", text));
    }
    return name;
}

std::string switch_port_name(const shm::Arena& arena, std::uint32_t switch_port) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        if (switch_port >= sw.port_first && switch_port < sw.port_first + sw.port_count) {
            return fmt::format("{}:{}", sw.name, switch_port - sw.port_first);
        }
    }
    return "?";
}

}  // namespace softib::app
