// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <string>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/link_name.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"

namespace softib::app {

int cmd_link(const LinkOptions& options) {
    // The port is given as NODE:PORT, or as NODE and PORT.
    auto name = options.port ? LinkName{options.node, 0} : parse_link(options.node);
    if (!name) {
        return misuse(name.error());
    }
    const std::uint32_t port = options.port.value_or(name->port);
    if (port > UINT8_MAX) {
        return misuse("that is no node and port");
    }
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    const int error = observer->ask(shm::request::SetLink{
        .node = name->node, .port = static_cast<std::uint8_t>(port), .up = options.action == "up"});
    if (error == ENOENT || error == EMSGSIZE) {
        return fail(fmt::format("no cable at '{}' port {}; nodes and ports are in: softib topo",
                                name->node, port));
    }
    if (error != 0) {
        return fail(why_not(error));
    }
    if (options.json) {
        fmt::print("{}",
                   json_text({{"node", name->node}, {"port", port}, {"link", options.action}}));
    }
    return 0;
}

}  // namespace softib::app
