// SPDX-License-Identifier: BSD-2-Clause
// Handlers of an operator's requests: the manager's state, routes, notices, partitions.
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/daemon/notice_log.h"
#include "runtime/daemon/routes.h"
#include "runtime/shm/clock.h"

namespace softib::daemon {

namespace {

constexpr char kPartitionsFile[] = "partitions.conf";  // In the fabric's directory.

/// Returns the name of a process's program.
std::string program_of(std::uint32_t pid) {
    std::ifstream comm(fmt::format("/proc/{}/comm", pid));
    std::string command;
    std::getline(comm, command);
    return command;
}

}  // namespace

/// Returns the master that the HCAs' ports name, as "opensm (pid 12) on h0/mlx5_0, LID 1"; empty if
/// they name none.
std::string Daemon::master_text() const {
    std::uint16_t lid = 0;
    for (std::uint32_t i = 0; i < arena_.header->hcas && lid == 0; ++i) {
        lid = arena_.hcas[i].state.load() == PortState::kActive ? arena_.hcas[i].sm_lid
                                                                : std::uint16_t{0};
    }
    if (lid == 0 || lid >= shm::kLftEntries) {
        return "";
    }
    const shm::NodeRef& node = arena_.lid_owner[lid];
    if (node.kind != shm::NodeRef::kHca) {
        return fmt::format(
            "softib on {}, LID {}",
            node.kind == shm::NodeRef::kSwitch ? arena_.switches[node.index].name : "-", lid);
    }
    const shm::HcaRecord& hca = arena_.hcas[node.index];
    std::string who = "softib";
    if (management_->manager() == nullptr || management_->manager()->own_lid() != Lid{lid}) {
        who = "one that is gone";
        for (const auto& [fd, connection] : connections_) {
            if (connection->manager_hca == node.index) {
                who = fmt::format("{} (pid {})", program_of(connection->pid), connection->pid);
            }
        }
    }
    return fmt::format("{} on {}/{}, LID {}", who, arena_.hosts[hca.host].name, hca.name, lid);
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Manager& request,
                   Answer<shm::request::Manager>& answer) {
    if (management_->manager() == nullptr) {
        const std::string master = master_text();
        return master.empty() || request.command != shm::ManagerCommand::kStatus
                   ? ENOENT
                   : answer({.master = master});
    }
    sm::Manager& manager = *management_.change().manager();
    switch (request.command) {
        case shm::ManagerCommand::kStatus:
            break;
        case shm::ManagerCommand::kResweep:
            manager.resweep(shm::monotonic_ns());
            break;
        case shm::ManagerCommand::kHandOver:
            if (!manager.hand_over()) {
                return EHOSTUNREACH;
            }
            break;
        default:
            return EINVAL;
    }
    settle();  // The answer has the state after the command.
    return tell_manager(manager, answer);
}

int Daemon::tell_manager(const sm::Manager& manager, Answer<shm::request::Manager>& answer) const {
    const std::string master = master_text();
    const std::string routes =
        manager.report() ? summary(manager.tables(), *manager.report()) : "not checked yet";
    return answer({.master = master,
                   .ours = true,
                   .state = wire::name_of(manager.state()),
                   .lid = manager.own_lid(),
                   .guid = manager.config().port_guid,
                   .priority = manager.config().priority,
                   .engine = manager.tables().engine,
                   .routes = routes,
                   .adaptive_groups = manager.tables().groups.count(),
                   .nodes = manager.subnet().size(),
                   .full_sweeps = manager.stats().sweeps_full,
                   .partial_sweeps = manager.stats().sweeps_partial,
                   .smps = manager.stats().smps_sent,
                   .lft_blocks = manager.stats().lft_blocks,
                   .others = manager.others().size()});
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Routes& /*request*/,
                   Answer<shm::request::Routes>& answer) {
    const int fd = write_routes(
        collect_routes(management_->mesh(), management_->switch_nodes(), management_->manager()));
    return fd < 0 ? errno : answer({{}, fd});
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Notices& request,
                   Answer<shm::request::Notices>& answer) {
    return answer(management_->notices().reply_from(request.from));
}

int Daemon::handle(Connection& /*connection*/, const shm::request::ReloadPartitions& /*request*/,
                   Answer<shm::request::ReloadPartitions>& answer) {
    if (management_->manager() == nullptr) {
        return ENOENT;
    }
    const std::string path = options_.dir + "/" + kPartitionsFile;
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) {
        return ENOENT;
    }
    auto partitions = sm::parse_partitions(text);
    if (!partitions) {
        const std::string error = fmt::format("{}:{}: {}", kPartitionsFile, partitions.error().line,
                                              partitions.error().message);
        return answer({.error = error});
    }
    log_info("partitions were read again: {}", partitions->size());
    management_.change().set_partitions(std::move(*partitions), shm::monotonic_ns());
    settle();  // The ports have the new P_Keys when the answer is sent.
    return answer({});
}

}  // namespace softib::daemon
