// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/fabric/fabric_state.h"
#include "app/fabric/launch.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

bool exists(const FabricRef& fabric) {
    return access((fabric.dir + "/" + kDescriptionName).c_str(), F_OK) == 0;
}

std::string not_up(const FabricRef& fabric) {
    return fmt::format("no fabric '{}' is up{}; see what there is with: softib list", fabric.name,
                       others_up());
}

/// Ends one fabric, and adds the result to `ended`. Returns the exit status.
int take_down(const FabricRef& fabric, bool json, Json& ended) {
    const FabricTrouble known = look_at_daemon(fabric);
    if (known.state == FabricState::kExhausted || known.state == FabricState::kForeign) {
        return fail(known.sentence());
    }
    const std::string name = painted(fabric.name, Colour::kBold);
    const bool was_up = daemon_pid(fabric) != 0;
    if (was_up) {
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
    } else if (exists(fabric)) {
        remove_fabric(fabric);
    } else {
        return fail(not_up(fabric));
    }
    ended.push_back({{"name", fabric.name}, {"was_up", was_up}});
    if (!json) {
        fmt::print("fabric {}{}\n", name,
                   was_up ? " is down" : ": its daemon was gone; removed what it left");
    }
    return 0;
}

/// Returns the fabrics that the options name. Without a name, it is the one of resolve_fabric() if
/// it exists, even if its daemon is gone and has only left files; else that of find_fabric().
std::expected<std::vector<FabricRef>, std::string> choose(const DownOptions& options) {
    if (options.all) {
        return list_fabrics();
    }
    std::vector<FabricRef> chosen;
    for (const std::string& name : options.names) {
        auto fabric = resolve_fabric(name);
        if (!fabric) {
            return std::unexpected(fabric.error());
        }
        chosen.push_back(std::move(*fabric));
    }
    if (chosen.empty()) {
        auto fabric = resolve_fabric(std::nullopt);
        if (fabric && !exists(*fabric)) {
            fabric = find_fabric(std::nullopt);
        }
        if (!fabric) {
            return std::unexpected(fabric.error());
        }
        chosen.push_back(std::move(*fabric));
    }
    return chosen;
}

}  // namespace

int cmd_down(const DownOptions& options) {
    if (options.all && !options.names.empty()) {
        return misuse("give names or --all, not both");
    }
    const auto fabrics = choose(options);
    if (!fabrics) {
        return fail(fabrics.error());
    }
    int status = 0;
    for (const FabricRef& fabric : *fabrics) {  // All are known before one is ended.
        if (!options.all && daemon_pid(fabric) == 0 && !exists(fabric)) {
            status = fail(not_up(fabric));
        }
    }
    if (status != 0) {
        return status;
    }
    Json ended = Json::array();
    for (const FabricRef& fabric : *fabrics) {
        status |= take_down(fabric, options.json, ended);
    }
    if (options.json) {
        fmt::print("{}", json_text(ended));
    }
    return status;
}

}  // namespace softib::app
