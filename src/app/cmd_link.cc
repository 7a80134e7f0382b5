// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "app/commands.h"
#include "app/observe.h"
#include "app/term.h"

namespace softib::app {

int cmd_link(const LinkOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    // NODE:PORT, or the two apart.
    std::string node = options.node;
    std::uint32_t port = options.port.value_or(1);
    if (const std::size_t colon = node.rfind(':'); colon != std::string::npos && !options.port) {
        const char* const end = node.data() + node.size();
        const auto [rest, bad] = std::from_chars(node.data() + colon + 1, end, port);
        if (bad != std::errc{} || rest != end) {
            return fail(fmt::format("'{}' has no port number after the colon", node));
        }
        node.resize(colon);
    }
    if (node.size() > live::kTextMax || port > UINT8_MAX) {
        return fail("that is no node and port");
    }
    live::Message message;
    message.request = live::Request::kSetLink;
    message.port = static_cast<std::uint16_t>(port);
    message.value = options.action == "up" ? 1 : 0;
    message.text_bytes = static_cast<std::uint32_t>(node.size());
    std::memcpy(message.text, node.data(), node.size());
    const int error = observer->ask(message);
    if (error == ENOENT) {
        return fail(fmt::format("no cable at '{}' port {}; nodes and ports are in: softib topo",
                                node, port));
    }
    return error == 0 ? 0 : fail(fmt::format("softibd refuses: {}", std::strerror(error)));
}

}  // namespace softib::app
