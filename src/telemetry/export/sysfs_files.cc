// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/export/sysfs_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace softib::telemetry {

namespace {

std::string device_name(const Node& node) {
    std::string name = node.name;
    std::ranges::replace(name, '/', '_');
    std::ranges::replace(name, ' ', '_');
    return name;
}

/// Writes a line over the one in a file: a reader sees the old line or the new one.
bool write_line(const std::string& path, const std::string& line) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return false;
    }
    const std::string text = line + "\n";
    const bool good =
        pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
        ftruncate(fd, static_cast<off_t>(text.size())) == 0;
    close(fd);
    return good;
}

}  // namespace

std::expected<void, std::string> write_sysfs(const Snapshot& snapshot,
                                             const std::string& directory) {
    const Inventory& inventory = *snapshot.inventory;
    std::string failed;
    const auto write = [&](const std::string& path, const std::string& line) {
        if (failed.empty() && !write_line(path, line)) {
            failed = fmt::format("cannot write {}: {}", path, std::strerror(errno));
        }
    };
    for (std::uint32_t i = 0; i < snapshot.sample.counts.size() && failed.empty(); ++i) {
        const Port& port = inventory.ports[i];
        const Node& node = inventory.node_of(i);
        const std::string device =
            fmt::format("{}/class/infiniband/{}", directory, device_name(node));
        const std::string folder = fmt::format("{}/ports/{}", device, port.number);
        std::error_code error;
        std::filesystem::create_directories(folder + "/counters", error);
        std::filesystem::create_directories(folder + "/hw_counters", error);
        if (error) {
            return std::unexpected(fmt::format("cannot make {}: {}", folder, error.message()));
        }
        if (node.port_first == i) {
            write(device + "/fw_ver", "0.0.0");
            write(device + "/board_id", "softib");
            write(device + "/hca_type", node.kind == topo::NodeKind::kSwitch ? "switch" : "HCA");
        }
        const bool up = snapshot.sample.states[i] == PortState::kActive;
        write(folder + "/state", up ? "4: ACTIVE" : "1: DOWN");
        write(folder + "/phys_state", up ? "5: LinkUp" : "2: Polling");
        write(folder + "/rate",
              fmt::format("{} Gb/sec ({}X {})", port.active_mbps / 1000, port.lanes, port.speed));
        for (const auto& row : counters::kPortCounters) {
            if (row.sysfs_directory != counters::SysfsDirectory::kNone) {
                const bool hw = row.sysfs_directory == counters::SysfsDirectory::kHwCounters;
                write(fmt::format("{}/{}/{}", folder, hw ? "hw_counters" : "counters",
                                  row.sysfs_file),
                      std::to_string(value_of(row, snapshot.sample.counts[i])));
            }
        }
    }
    return failed.empty() ? std::expected<void, std::string>{} : std::unexpected(failed);
}

}  // namespace softib::telemetry
