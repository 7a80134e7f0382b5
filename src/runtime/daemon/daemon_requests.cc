// SPDX-License-Identifier: BSD-2-Clause
// Handlers of requests. The contents of a message are not trusted: indices are checked against the
// tables before they are used.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "core/cm/address.h"
#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/daemon/sysfs/sysfs.h"
#include "runtime/shm/addresses.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/packet_queue.h"

namespace softib::daemon {

namespace {

std::string command_of(std::uint32_t pid) {
    std::ifstream comm(fmt::format("/proc/{}/comm", pid));
    std::string command;
    std::getline(comm, command);
    return command;
}

/// Marks a free slot as being attached and returns its owner number, or 0 if all are in use.
shm::Owner claim_slot(const shm::Arena& arena) {
    for (std::uint32_t i = 0; i < shm::kProcsMax; ++i) {
        shm::ProcState expected = shm::ProcState::kFree;
        if (arena.procs[i].state.compare_exchange_strong(expected, shm::ProcState::kAttaching)) {
            if (i >= procs_used(arena)) {
                arena.header->procs_top.store(i + 1, std::memory_order_seq_cst);
            }
            return static_cast<shm::Owner>(i + 1);
        }
    }
    return 0;
}

void fill_slot(const shm::Arena& arena, shm::ProcSlot& slot, std::uint32_t pid,
               std::uint32_t host) {
    slot.pid = pid;
    slot.uid = geteuid();
    // The first instance is random: a program of an earlier daemon must not take the channels of a
    // new process for those of a process that it knew.
    slot.instance = (slot.instance == 0 ? arena.header->instance >> 32 : slot.instance) + 1;
    slot.host_first = host;
    for (auto& bytes : slot.bytes_by_tier) {
        bytes.store(0, std::memory_order_relaxed);
    }
    for (auto& regions : slot.regions_by_tier) {
        regions.store(0, std::memory_order_relaxed);
    }
    const std::string command = command_of(pid);
    const std::size_t bytes = std::min(command.size(), sizeof slot.command - 1);
    std::memset(slot.command, 0, sizeof slot.command);
    std::memcpy(slot.command, command.data(), bytes);
}

/// Returns the node with a name: a switch, HOST/DEVICE, or HOST. For HOST it is the HCA of the
/// host's port `port`, which then becomes 1. Returns NodeRef::kNone if there is none.
shm::NodeRef find_node(const shm::Arena& arena, std::string_view name, std::uint16_t& port) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        if (name == arena.switches[i].name) {
            return {shm::NodeRef::kSwitch, i};
        }
    }
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::uint32_t host = find_host(arena, name.substr(0, slash));
    if (host == UINT32_MAX) {
        return {};
    }
    const shm::HostRecord& record = arena.hosts[host];
    if (slash == name.size()) {
        // The ports of a host are those of its HCAs in order; each HCA has one port.
        if (port == 0 || port > record.hca_count) {
            return {};
        }
        return {shm::NodeRef::kHca, record.hca_first + std::exchange(port, std::uint16_t{1}) - 1};
    }
    for (std::uint32_t i = 0; i < record.hca_count; ++i) {
        if (name.substr(slash + 1) == arena.hcas[record.hca_first + i].name) {
            return {shm::NodeRef::kHca, record.hca_first + i};
        }
    }
    return {};
}

/// Returns the faults of both directions of the cable at a port, or std::nullopt if there is none.
std::optional<std::array<shm::LinkFaults*, 2>> link_ends(const shm::Arena& arena,
                                                         const shm::NodeRef& node,
                                                         std::uint16_t port) {
    const auto at_switch = [&](std::uint32_t sw, std::uint32_t number) -> shm::SwitchPortRecord* {
        return sw < arena.header->switches && number != 0 && number < arena.switches[sw].port_count
                   ? &arena.switch_ports[arena.switches[sw].port_first + number]
                   : nullptr;
    };
    if (node.kind == shm::NodeRef::kHca) {
        shm::HcaRecord& hca = arena.hcas[node.index];
        shm::SwitchPortRecord* const other = at_switch(hca.peer_switch, hca.peer_port);
        return other != nullptr ? std::optional(std::array{&hca.faults, &other->faults})
                                : std::nullopt;
    }
    shm::SwitchPortRecord* const own =
        node.kind == shm::NodeRef::kSwitch ? at_switch(node.index, port) : nullptr;
    if (own == nullptr || (own->peer.kind == shm::NodeRef::kNone && own->peer_port == 0)) {
        return std::nullopt;
    }
    if (own->peer.kind == shm::NodeRef::kNone) {
        return std::array{&own->faults, &own->faults};  // A trunk: its far end is elsewhere.
    }
    if (own->peer.kind == shm::NodeRef::kHca) {
        return std::array{&own->faults, &arena.hcas[own->peer.index].faults};
    }
    shm::SwitchPortRecord* const other = at_switch(own->peer.index, own->peer_port);
    return other != nullptr ? std::optional(std::array{&own->faults, &other->faults})
                            : std::nullopt;
}

}  // namespace

int Daemon::handle(Connection& connection, const shm::request::Attach& request,
                   Answer<shm::request::Attach>& answer) {
    if (connection.owner != 0) {
        return EALREADY;
    }
    if (list_devices(arena_, request.hosts, {}) == 0) {
        log_warning("refused pid {}: no host '{}' in this fabric", connection.pid, request.hosts);
        return ENOENT;
    }
    const std::uint32_t host = find_host(arena_, request.hosts.substr(0, request.hosts.find(',')));
    shm::Owner owner = claim_slot(arena_);
    while (owner == 0 && !dying_.empty()) {
        reclaim_one();
        owner = claim_slot(arena_);
    }
    if (owner == 0) {
        log_warning(
            "refused pid {}: {} processes are on this fabric, and it takes no more; end some "
            "of them, or start another fabric (softib up NAME)",
            connection.pid, shm::kProcsMax);
        return EUSERS;
    }
    shm::ProcSlot& slot = arena_.proc(owner);
    fill_slot(arena_, slot, connection.pid, host);
    const std::string dir = proc_dir(options_.dir, owner, slot.instance);
    if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
        const int error = errno;
        log_error("cannot make {}: {}", dir, std::strerror(error));
        slot.state.store(shm::ProcState::kFree);
        return error;
    }
    connection.owner = owner;
    connection.instance = slot.instance;
    log_info("pid {} ({}) on host {} takes slot {}", connection.pid, slot.command, request.hosts,
             owner);
    watch_process(connection);
    return answer({.owner = owner, .file = arena_.fd});
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Observe& /*request*/,
                   Answer<shm::request::Observe>& answer) {
    const std::string path = fmt::format("/proc/self/fd/{}", arena_.fd);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : answer({{}, fd});
}

int Daemon::handle(Connection& connection, const shm::request::McastAttach& request) {
    return connection.owner == 0
               ? ENOTCONN
               : mcast_.attach(connection.owner, request.qpn, request.mgid, request.mlid);
}

int Daemon::handle(Connection& connection, const shm::request::McastDetach& request) {
    return connection.owner == 0
               ? ENOTCONN
               : mcast_.detach(connection.owner, request.qpn, request.mgid, request.mlid);
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SysfsRead& request,
                   Answer<shm::request::SysfsRead>& answer) {
    sharp_.unmarked().settle();  // The program may read counters.
    const auto contents = sysfs_read(arena_, request.host, request.path);
    return contents ? answer({.text = *contents}) : contents.error();
}

/// Answers with the address of addresses.h, which is always one of the machine's own, unlike those
/// that the user may have given.
int Daemon::handle(Connection& /*connection*/, const shm::request::FindHost& request,
                   Answer<shm::request::FindHost>& answer) {
    const std::uint32_t host = find_host(arena_, request.name);
    if (host == UINT32_MAX || arena_.hosts[host].hca_count == 0) {
        return ENOENT;
    }
    return answer({.address = cm::to_string(address_of_hca(arena_, arena_.hosts[host].hca_first))});
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SetRoute& request) {
    const shm::ArenaHeader& header = *arena_.header;
    const bool removes = request.port == shm::request::SetRoute::kRemove;
    if (request.switch_index >= header.switches || request.lid.value == 0 ||
        request.lid.value > header.lid_max ||
        (!removes && request.port >= arena_.switches[request.switch_index].port_count)) {
        return EINVAL;
    }
    management_.change().set_route(request.switch_index, request.lid, request.port,
                                   shm::monotonic_ns());
    log_info("switch {} sends LID {} to port {}", arena_.switches[request.switch_index].name,
             request.lid.value, removes ? "none" : std::to_string(request.port));
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SetLink& request) {
    std::uint16_t port = request.port;
    const shm::NodeRef node = find_node(arena_, request.node, port);
    if (!management_.change().set_plugged(node, static_cast<std::uint8_t>(port), request.up,
                                          shm::monotonic_ns())) {
        return ENOENT;
    }
    log_info("link at {} port {} is {}", request.node, request.port, request.up ? "up" : "down");
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SetFaults& request) {
    if (!is_packet_path(arena_)) {
        return EOPNOTSUPP;
    }
    const shm::WantedFaults& wanted = request.faults;
    const auto asks = [](std::uint32_t value) {
        return value != 0 && value != shm::WantedFaults::kAsBefore;
    };
    if (arena_.header->link_layer == hca::LinkLayer::kEthernet &&
        (asks(wanted.delay_ns) || asks(wanted.rate_mbps))) {
        return EPROTONOSUPPORT;  // The speed of the machine's own network cannot be changed.
    }
    std::uint16_t port = request.port;
    const shm::NodeRef node = find_node(arena_, request.node, port);
    const auto ends = link_ends(arena_, node, port);
    if (!ends) {
        return ENOENT;
    }
    const auto set = [](std::atomic<std::uint32_t>& value, std::uint32_t to) {
        if (to != shm::WantedFaults::kAsBefore) {
            value.store(to, std::memory_order_relaxed);
        }
    };
    for (shm::LinkFaults* const faults : *ends) {
        set(faults->lost_ppm, wanted.lost_ppm);
        set(faults->broken_ppm, wanted.broken_ppm);
        set(faults->delay_ns, wanted.delay_ns);
        set(faults->rate_mbps, wanted.rate_mbps);
    }
    arena_.header->route_generation.fetch_add(1, std::memory_order_release);
    wake_carrier(arena_);
    log_info("faults of the link at {} port {} were set", request.node, request.port);
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SetPower& request) {
    std::uint16_t port = 0;
    const shm::NodeRef node = find_node(arena_, request.switch_name, port);
    if (node.kind != shm::NodeRef::kSwitch) {
        return ENOENT;
    }
    management_.change().set_powered(node.index, request.on, shm::monotonic_ns());
    log_info("switch {} is {}", request.switch_name, request.on ? "alive" : "dead");
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SetPKey& request) {
    if (request.hca >= arena_.header->hcas || request.index >= shm::kPKeysPerPort) {
        return EINVAL;
    }
    management_.change().set_pkey(request.hca, request.index, request.pkey, shm::monotonic_ns());
    log_info("P_Key {} of HCA {} is {:#06x}", request.index, request.hca, request.pkey.value);
    return 0;
}

int Daemon::handle(Connection& connection, const shm::request::Shutdown& /*request*/) {
    log_info("pid {} asked for the end of the fabric", connection.pid);
    stopping_ = true;
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Settle& /*request*/) {
    management_.change().refresh();
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Refused& request) {
    management_.change().refuse(request, shm::monotonic_ns());
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::BadLink& request) {
    management_.change().tell_bad_link(request, shm::monotonic_ns());
    return 0;
}

}  // namespace softib::daemon
