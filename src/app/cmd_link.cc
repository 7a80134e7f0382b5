// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "app/commands.h"
#include "app/observe.h"
#include "app/term.h"

namespace softib::app {

int cmd_link(const LinkOptions& options) {
    const auto fabric = resolve_fabric(options.fabric);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto observer = Observer::open(*fabric);
    if (!observer) {
        return fail(observer.error());
    }
    if (options.node.size() > live::kTextMax || options.port > UINT16_MAX) {
        return fail("that is no node and port");
    }
    live::Message message;
    message.request = live::Request::kSetLink;
    message.port = static_cast<std::uint16_t>(options.port);
    message.value = options.action == "up" ? 1 : 0;
    message.text_bytes = static_cast<std::uint32_t>(options.node.size());
    std::memcpy(message.text, options.node.data(), options.node.size());
    const int error = observer->ask(message);
    if (error == ENOENT) {
        return fail(fmt::format("no cable at '{}' port {}; nodes and ports are in: softib topo",
                                options.node, options.port));
    }
    return error == 0 ? 0 : fail(fmt::format("softibd refuses: {}", std::strerror(error)));
}

}  // namespace softib::app
