// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/fabric_state.h"
#include "app/launch.h"
#include "app/term.h"

namespace softib::app {

namespace {

int take_down(const FabricRef& fabric) {
    const FabricTrouble known = look_at_daemon(fabric);
    if (known.state == FabricState::kExhausted || known.state == FabricState::kForeign) {
        return fail(known.sentence());
    }
    if (daemon_pid(fabric) != 0) {
        const bool foreign = known.state == FabricState::kOtherVersion;
        if (foreign) {
            note(known.what + "; ending it by a signal");
        }
        if (auto stopped = foreign ? signal_daemon(fabric) : stop_daemon(fabric); !stopped) {
            note(stopped.error() + "; ending it by force");
            if (auto killed = kill_daemon(fabric); !killed) {
                return fail(killed.error());
            }
        }
        fmt::print("fabric {} is down\n", painted(fabric.name, Colour::kBold));
        return 0;
    }
    const std::string leftover = fabric.dir + "/" + kDescriptionName;
    if (access(leftover.c_str(), F_OK) != 0) {
        return fail(
            fmt::format("no fabric '{}' is up; see what there is with: softib list", fabric.name));
    }
    remove_fabric(fabric);
    fmt::print("fabric {}: its daemon was gone; removed what it left\n",
               painted(fabric.name, Colour::kBold));
    return 0;
}

}  // namespace

int cmd_down(const DownOptions& options) {
    if (!options.all) {
        const auto fabric = resolve_fabric(options.name);
        return fabric ? take_down(*fabric) : fail(fabric.error());
    }
    if (options.name) {
        return fail("give a name or --all, not both");
    }
    const auto fabrics = list_fabrics();
    if (!fabrics) {
        return fail(fabrics.error());
    }
    int status = 0;
    for (const FabricRef& fabric : *fabrics) {
        status |= take_down(fabric);
    }
    return status;
}

}  // namespace softib::app
