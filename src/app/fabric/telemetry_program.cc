// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/telemetry_program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/fabric/child_program.h"
#include "app/fabric/environment.h"

namespace softib::app {

std::string telemetry_program() {
    return own_bin_dir() + "/softib-telemetry";
}

std::expected<void, std::string> check_telemetry(bool wanted) {
    if (!wanted || access(telemetry_program().c_str(), X_OK) == 0) {
        return {};
    }
    return std::unexpected(
        fmt::format("there is no {}: it was not built or not installed", telemetry_program()));
}

std::expected<pid_t, std::string> start_telemetry(const FabricRef& fabric) {
    if (auto checked = check_telemetry(true); !checked) {
        return std::unexpected(checked.error());
    }
    const std::string dir = fabric.dir + "/" + kTelemetryDirName;
    mkdir(dir.c_str(), 0700);
    return start_child({telemetry_program(), "--dir", fabric.dir}, child_environment({}),
                       dir + "/telemetry.log");
}

}  // namespace softib::app
