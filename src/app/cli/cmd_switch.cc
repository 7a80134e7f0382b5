// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/launch.h"
#include "app/fabric/observe.h"
#include "app/fabric/term.h"

namespace softib::app {

int cmd_switch(const SwitchOptions& options) {
    const auto observer = Observer::open(options.fabric);
    if (!observer) {
        return fail(observer.error());
    }
    const int error = observer->ask(
        shm::request::SetPower{.switch_name = options.name, .on = options.action == "revive"});
    if (error == ENOENT || error == EMSGSIZE) {
        return fail(fmt::format("no switch '{}'; their names are in: softib topo", options.name));
    }
    if (error != 0) {
        return fail(why_not(error));
    }
    if (options.json) {
        fmt::print("{}",
                   json_text({{"switch", options.name}, {"power", options.action == "revive"}}));
    }
    return 0;
}

}  // namespace softib::app
