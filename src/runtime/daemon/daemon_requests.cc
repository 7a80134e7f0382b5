// SPDX-License-Identifier: BSD-2-Clause
// What the daemon does for each request. Everything in a message is a stranger's word: indices
// are checked against the tables before they are used.
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
#include "runtime/daemon/routes.h"
#include "runtime/daemon/sysfs/sysfs.h"
#include "runtime/shm/addresses.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/packet_queue.h"

namespace softib::live {

namespace {

constexpr std::uint16_t kRemoveRoute = 0xFF;

std::string_view text_of(const Message& message) {
    return {message.text, message.text_bytes};
}

std::string command_of(std::uint32_t pid) {
    std::ifstream comm(fmt::format("/proc/{}/comm", pid));
    std::string command;
    std::getline(comm, command);
    return command;
}

/// A free slot, already marked as being attached; 0: all are in use.
Owner claim_slot(const Arena& arena) {
    for (std::uint32_t i = 0; i < kProcsMax; ++i) {
        ProcState expected = ProcState::kFree;
        if (arena.procs[i].state.compare_exchange_strong(expected, ProcState::kAttaching)) {
            if (i >= procs_used(arena)) {
                arena.header->procs_top.store(i + 1, std::memory_order_seq_cst);
            }
            return static_cast<Owner>(i + 1);
        }
    }
    return 0;
}

void fill_slot(const Arena& arena, ProcSlot& slot, std::uint32_t pid, std::uint32_t host) {
    slot.pid = pid;
    slot.uid = geteuid();
    // Counting starts anywhere: a program that a restarted daemon does not know must not find
    // the channels of a new one under the old name.
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

/// The node behind a name: a switch, or HOST/DEVICE.
NodeRef find_node(const Arena& arena, std::string_view name, std::uint16_t& port) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        if (name == arena.switches[i].name) {
            return {NodeRef::kSwitch, i};
        }
    }
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::uint32_t host = find_host(arena, name.substr(0, slash));
    if (host == UINT32_MAX) {
        return {};
    }
    const HostRecord& record = arena.hosts[host];
    if (slash == name.size()) {
        // Ports of a host are those of its HCAs in order, and each of these has one.
        if (port == 0 || port > record.hca_count) {
            return {};
        }
        return {NodeRef::kHca, record.hca_first + std::exchange(port, std::uint16_t{1}) - 1};
    }
    for (std::uint32_t i = 0; i < record.hca_count; ++i) {
        if (name.substr(slash + 1) == arena.hcas[record.hca_first + i].name) {
            return {NodeRef::kHca, record.hca_first + i};
        }
    }
    return {};
}

/// Both directions of the cable at a port; nothing where there is none.
std::optional<std::array<LinkFaults*, 2>> link_ends(const Arena& arena, const NodeRef& node,
                                                    std::uint16_t port) {
    const auto at_switch = [&](std::uint32_t sw, std::uint32_t number) -> SwitchPortRecord* {
        return number != 0 && number < arena.switches[sw].port_count
                   ? &arena.switch_ports[arena.switches[sw].port_first + number]
                   : nullptr;
    };
    if (node.kind == NodeRef::kHca) {
        HcaRecord& hca = arena.hcas[node.index];
        SwitchPortRecord* const other = at_switch(hca.peer_switch, hca.peer_port);
        return other != nullptr ? std::optional(std::array{&hca.faults, &other->faults})
                                : std::nullopt;
    }
    SwitchPortRecord* const own =
        node.kind == NodeRef::kSwitch ? at_switch(node.index, port) : nullptr;
    if (own == nullptr || (own->peer.kind == NodeRef::kNone && own->peer_port == 0)) {
        return std::nullopt;
    }
    if (own->peer.kind == NodeRef::kNone) {
        return std::array{&own->faults, &own->faults};  // A trunk, whose far end is not ours.
    }
    if (own->peer.kind == NodeRef::kHca) {
        return std::array{&own->faults, &arena.hcas[own->peer.index].faults};
    }
    SwitchPortRecord* const other = at_switch(own->peer.index, own->peer_port);
    return other != nullptr ? std::optional(std::array{&own->faults, &other->faults})
                            : std::nullopt;
}

void answer(Message& message, const std::string& text) {
    message.status = 0;
    message.text_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), kTextMax));
    std::memcpy(message.text, text.data(), message.text_bytes);
}

}  // namespace

int Daemon::handle_attach(Connection& connection, Message& message) {
    const std::string hosts(text_of(message));
    message.text_bytes = 0;
    message.owner = 0;
    if (connection.owner != 0) {
        message.status = EALREADY;
        return -1;
    }
    if (list_devices(arena_, hosts, {}) == 0) {
        log_warning("refused pid {}: no host '{}' in this fabric", connection.pid, hosts);
        message.status = ENOENT;
        return -1;
    }
    const std::uint32_t host = find_host(arena_, hosts.substr(0, hosts.find(',')));
    Owner owner = claim_slot(arena_);
    while (owner == 0 && !dying_.empty()) {
        reclaim_one();
        owner = claim_slot(arena_);
    }
    if (owner == 0) {
        log_warning(
            "refused pid {}: {} processes are on this fabric, and it takes no more; end some "
            "of them, or start another fabric (softib up NAME)",
            connection.pid, kProcsMax);
        message.status = EAGAIN;
        return -1;
    }
    ProcSlot& slot = arena_.proc(owner);
    fill_slot(arena_, slot, connection.pid, host);
    const std::string dir = proc_dir(options_.dir, owner, slot.instance);
    if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
        message.status = errno;
        log_error("cannot make {}: {}", dir, std::strerror(errno));
        slot.state.store(ProcState::kFree);
        return -1;
    }
    connection.owner = owner;
    connection.instance = slot.instance;
    log_info("pid {} ({}) on host {} takes slot {}", connection.pid, slot.command, hosts, owner);
    message.status = 0;
    message.owner = owner;
    return arena_.fd;
}

int Daemon::handle_observe(Message& message) {
    message.text_bytes = 0;
    const std::string path = fmt::format("/proc/self/fd/{}", arena_.fd);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    message.status = fd < 0 ? errno : 0;
    return fd;
}

void Daemon::handle_mcast(Connection& connection, Message& message) {
    message.text_bytes = 0;
    if (connection.owner == 0) {
        message.status = ENOTCONN;
        return;
    }
    Gid mgid;
    std::copy(std::begin(message.gid), std::end(message.gid), mgid.bytes.begin());
    const Qpn qpn{message.qpn};
    const Lid mlid{message.lid};
    message.status = message.request == Request::kMcastAttach
                         ? mcast_.attach(connection.owner, qpn, mgid, mlid)
                         : mcast_.detach(connection.owner, qpn, mgid, mlid);
}

void Daemon::handle_sysfs_read(Message& message) {
    const std::string text(text_of(message));
    message.text_bytes = 0;
    const std::size_t split = text.find('\0');
    if (split == std::string::npos) {
        message.status = EINVAL;
        return;
    }
    const std::string_view view(text);
    const auto contents = sysfs_read(arena_, view.substr(0, split), view.substr(split + 1));
    if (!contents) {
        message.status = contents.error();
        return;
    }
    if (contents->size() > kTextMax) {
        message.status = EMSGSIZE;
        return;
    }
    message.status = 0;
    message.text_bytes = static_cast<std::uint32_t>(contents->size());
    std::memcpy(message.text, contents->data(), contents->size());
}

/// The generated address: whatever others the user gave, this one is always the machine's own.
void Daemon::handle_find_host(Message& message) const {
    const std::uint32_t host = find_host(arena_, text_of(message));
    message.text_bytes = 0;
    if (host == UINT32_MAX || arena_.hosts[host].hca_count == 0) {
        message.status = ENOENT;
        return;
    }
    const std::string address = cm::to_string(address_of_hca(arena_, arena_.hosts[host].hca_first));
    message.status = 0;
    message.text_bytes = static_cast<std::uint32_t>(address.size());
    std::memcpy(message.text, address.data(), address.size());
}

void Daemon::handle_set_route(Message& message) {
    const ArenaHeader& header = *arena_.header;
    if (message.index >= header.switches || message.lid == 0 || message.lid > header.lid_max ||
        (message.port != kRemoveRoute &&
         message.port >= arena_.switches[message.index].port_count)) {
        message.status = EINVAL;
        return;
    }
    management_.set_route(message.index, Lid{message.lid}, static_cast<std::uint8_t>(message.port),
                          monotonic_ns());
    hand_out_mads();
    log_info("switch {} sends LID {} to port {}", arena_.switches[message.index].name, message.lid,
             message.port == kRemoveRoute ? "none" : std::to_string(message.port));
    message.status = 0;
}

void Daemon::handle_set_link(Message& message) {
    const std::string name(text_of(message));
    if (message.value > 1 || message.port > UINT8_MAX) {
        message.status = EINVAL;
        return;
    }
    std::uint16_t port = message.port;
    const NodeRef node = find_node(arena_, name, port);
    if (!management_.set_plugged(node, static_cast<std::uint8_t>(port), message.value == 1,
                                 monotonic_ns())) {
        message.status = ENOENT;
        return;
    }
    hand_out_mads();
    log_info("link at {} port {} is {}", name, message.port, message.value == 0 ? "down" : "up");
    message.status = 0;
}

void Daemon::handle_set_faults(Message& message) {
    const std::string text(text_of(message));
    WantedFaults wanted;
    if (!is_packet_path(arena_)) {
        message.status = EOPNOTSUPP;
        return;
    }
    if (text.size() <= sizeof wanted) {
        message.status = EINVAL;
        return;
    }
    std::memcpy(&wanted, text.data(), sizeof wanted);
    const auto asks = [](std::uint32_t value) { return value != 0 && value != UINT32_MAX; };
    if (arena_.header->link_layer == LinkLayer::kEthernet &&
        (asks(wanted.delay_ns) || asks(wanted.rate_mbps))) {
        message.status = EPROTONOSUPPORT;  // The machine's own network is as fast as it is.
        return;
    }
    const std::string name = text.substr(sizeof wanted);
    std::uint16_t port = message.port;
    const NodeRef node = find_node(arena_, name, port);
    const auto ends = link_ends(arena_, node, port);
    if (!ends) {
        message.status = ENOENT;
        return;
    }
    const auto set = [](std::atomic<std::uint32_t>& value, std::uint32_t to) {
        if (to != UINT32_MAX) {
            value.store(to, std::memory_order_relaxed);
        }
    };
    for (LinkFaults* const faults : *ends) {
        set(faults->lost_ppm, wanted.lost_ppm);
        set(faults->broken_ppm, wanted.broken_ppm);
        set(faults->delay_ns, wanted.delay_ns);
        set(faults->rate_mbps, wanted.rate_mbps);
    }
    arena_.header->route_generation.fetch_add(1, std::memory_order_release);
    wake_carrier(arena_);
    log_info("faults of the link at {} port {} were set", name, message.port);
    message.status = 0;
}

void Daemon::handle_set_power(Message& message) {
    const std::string name(text_of(message));
    std::uint16_t port = 0;
    const NodeRef node = find_node(arena_, name, port);
    if (node.kind != NodeRef::kSwitch || message.value > 1) {
        message.status = node.kind != NodeRef::kSwitch ? ENOENT : EINVAL;
        return;
    }
    management_.set_powered(node.index, message.value == 1, monotonic_ns());
    hand_out_mads();
    log_info("switch {} is {}", name, message.value == 0 ? "dead" : "alive");
    message.status = 0;
}

/// Whom the ports say to be their manager: "opensm (pid 12) on h0/mlx5_0, LID 1". Empty: nobody.
std::string Daemon::master_text() const {
    std::uint16_t lid = 0;
    for (std::uint32_t i = 0; i < arena_.header->hcas && lid == 0; ++i) {
        lid = arena_.hcas[i].state.load() == PortState::kActive ? arena_.hcas[i].sm_lid
                                                                : std::uint16_t{0};
    }
    if (lid == 0 || lid >= kLftEntries) {
        return "";
    }
    const NodeRef& node = arena_.lid_owner[lid];
    if (node.kind != NodeRef::kHca) {
        return fmt::format("softib on {}, LID {}",
                           node.kind == NodeRef::kSwitch ? arena_.switches[node.index].name : "-",
                           lid);
    }
    const HcaRecord& hca = arena_.hcas[node.index];
    std::string who = "softib";
    if (management_.manager() == nullptr || management_.manager()->own_lid() != Lid{lid}) {
        who = "one that is gone";
        for (const auto& [fd, connection] : connections_) {
            if (connection->manager_hca == node.index) {
                who = fmt::format("{} (pid {})", command_of(connection->pid), connection->pid);
            }
        }
    }
    return fmt::format("{} on {}/{}, LID {}", who, arena_.hosts[hca.host].name, hca.name, lid);
}

/// Answers with lines of "name value", for `softib sm`.
void Daemon::handle_manager(Message& message) {
    message.text_bytes = 0;
    sm::Manager* const manager = management_.manager();
    if (manager == nullptr) {
        const std::string master = master_text();
        if (master.empty() ||
            static_cast<ManagerCommand>(message.value) != ManagerCommand::kStatus) {
            message.status = ENOENT;
            return;
        }
        answer(message, fmt::format("master {}\n", master));
        return;
    }
    switch (static_cast<ManagerCommand>(message.value)) {
        case ManagerCommand::kStatus:
            break;
        case ManagerCommand::kResweep:
            manager->resweep(monotonic_ns());
            break;
        case ManagerCommand::kHandOver:
            if (!manager->hand_over()) {
                message.status = EHOSTUNREACH;
                return;
            }
            break;
        default:
            message.status = EINVAL;
            return;
    }
    hand_out_mads();
    const std::string text = fmt::format(
        "master {}\nstate {}\nlid {}\nguid {}\npriority {}\nengine {}\nroutes {}\n"
        "adaptive_groups {}\nnodes {}\nfull_sweeps {}\npartial_sweeps {}\nsmps {}\nlft_blocks {}\n"
        "others {}\n",
        master_text(), wire::name_of(manager->state()), manager->own_lid().value,
        to_string(manager->config().port_guid), manager->config().priority,
        manager->tables().engine,
        manager->report() ? summary(manager->tables(), *manager->report()) : "not checked yet",
        manager->tables().groups.count(), manager->subnet().size(), manager->stats().sweeps_full,
        manager->stats().sweeps_partial, manager->stats().smps_sent, manager->stats().lft_blocks,
        manager->others().size());
    answer(message, text);
}

int Daemon::handle_routes(Message& message) {
    message.text_bytes = 0;
    const int fd = write_routes(
        collect_routes(management_.mesh(), management_.switch_nodes(), management_.manager()));
    message.status = fd < 0 ? errno : 0;
    return fd;
}

void Daemon::handle_set_pkey(Message& message) {
    if (message.index >= arena_.header->hcas || message.port >= kPKeysPerPort ||
        message.value > UINT16_MAX) {
        message.status = EINVAL;
        return;
    }
    management_.set_pkey(message.index, message.port,
                         PKey{static_cast<std::uint16_t>(message.value)}, monotonic_ns());
    hand_out_mads();
    log_info("P_Key {} of HCA {} is {:#06x}", message.port, message.index, message.value);
    message.status = 0;
}

void Daemon::handle_refused(const Message& message) {
    RefusedPacket packet;
    if (message.text_bytes != sizeof packet) {
        return;
    }
    std::memcpy(&packet, message.text, sizeof packet);
    management_.refuse(packet, monotonic_ns());
    hand_out_mads();
}

}  // namespace softib::live
