// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/management.h"

#include <sys/random.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/agent/from_fabric.h"
#include "core/sm/host_order.h"
#include "core/topo/trunk.h"
#include "runtime/daemon/builder.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/packet_queue.h"
#include "runtime/shm/shm_lock.h"

namespace softib::daemon {

namespace {

/// Returns a random AM_Key, which keeps MADs of programs from writing into aggregation nodes.
/// Returns 0, which means no key, if the kernel has no random bytes.
std::uint64_t draw_am_key() {
    std::uint64_t key = 0;
    return getrandom(&key, sizeof key, 0) == sizeof key ? key : 0;
}

/// Returns the GUIDs of this fabric's switches. Those behind a trunk belong to another daemon and
/// its aggregation manager.
std::set<Guid> switch_guids(const shm::Arena& arena) {
    std::set<Guid> guids;
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        guids.insert(Guid{arena.switches[i].node_guid});
    }
    return guids;
}

}  // namespace

Management::Management(const shm::Arena& arena, shm::ChannelWriter& events,
                       const topo::Fabric& fabric, const ManagementOptions& options)
    : arena_(arena),
      mesh_(agent::make_mesh(fabric, *this)),
      lid_file_(options.lid_file),
      writer_(arena, events, place_nodes(fabric)),
      cables_(arena, writer_.places()),
      hca_nodes_(arena.header->hcas, agent::kNoNode),
      switch_nodes_(arena.header->switches, agent::kNoNode),
      aggregation_(sharp::ManagerConfig{
          .am_key = draw_am_key(),
          .may_use = [own = switch_guids(arena)](Guid guid) { return own.contains(guid); }}) {
    if (is_packet_path(arena)) {
        mesh_.set_cables(&cables_);
    }
    for (agent::NodeId i = 0; i < mesh_.size(); ++i) {
        const shm::NodeRef& place = writer_.place(i);
        if (place.kind == shm::NodeRef::kHca) {
            hca_nodes_[place.index] = i;
        } else if (place.kind == shm::NodeRef::kSwitch) {
            switch_nodes_[place.index] = i;
        }
    }
    for (const topo::NodeIndex node : topo::trunk_nodes(fabric)) {
        trunk_nodes_.push_back(node.value);
    }
    // The manager is on the first switch; in a fabric without switches, on the first HCA.
    if (!switch_nodes_.empty()) {
        service_at_ = {switch_nodes_[0], 0};
    } else if (!hca_nodes_.empty()) {
        service_at_ = {hca_nodes_[0], 1};
    }
    if (!options.own_aggregation) {
        job_client_.emplace(static_cast<std::uint32_t>(draw_am_key()));
    }
    // Registered before the subnet manager, which takes all MADs of the SA's class but has no use
    // for reports.
    aggregation_token_ = dispatcher_.add(
        {.interests = {{.mgmt_class = wire::MgmtClass::kSharp},
                       {.mgmt_class = wire::MgmtClass::kSubnAdm, .method = wire::Method::kReport}},
         .nodes = {service_at_.node}});
    if (options.own_manager) {
        sm::ManagerConfig config = options.manager;
        config.port = service_at_.port;
        config.port_guid = mesh_.node(service_at_.node).spec().ports[service_at_.port].guid;
        // A fabric that was read from a dump keeps the LIDs of the dump.
        for (const topo::Node& node : fabric.nodes) {
            if (node.lid != kLidUnassigned) {
                const bool is_switch = node.kind == topo::NodeKind::kSwitch;
                const PortNum port{static_cast<std::uint8_t>(is_switch ? 0 : 1)};
                config.lids.try_emplace(topo::port_guid(node, port).value, node.lid);
            }
        }
        config.host_order = sm::host_order_of(fabric);
        service_.emplace(std::move(config));
        service_token_ =
            dispatcher_.add({.interests = agent::interests_in(sm::SubnetService::kClasses),
                             .nodes = {service_at_.node}});
    }
}

void Management::start(std::uint64_t now_ns) {
    if (service_) {
        mesh_.set_capability(service_at_, wire::port_capability::kIsSM, true);
        service_->start(now_ns);
    }
    run(now_ns);
}

std::uint64_t Management::run(std::uint64_t now_ns) {
    std::uint64_t next = mesh_.advance(now_ns);
    if (service_ && service_->next_timeout_ns() <= now_ns) {
        service_->handle_timeout(now_ns);
    }
    if (aggregation_.next_timeout_ns() <= now_ns) {
        know_subnet_manager();
        aggregation_.handle_timeout(now_ns);
    }
    if (aggregation_rmpp_.next_timeout_ns() <= now_ns) {
        aggregation_rmpp_.handle_timeout(now_ns);
    }
    if (job_client_ && job_client_->next_timeout_ns() <= now_ns) {
        job_client_->handle_timeout(now_ns);
    }
    drive(now_ns);
    next = std::min({next, mesh_.advance(now_ns), aggregation_.next_timeout_ns(),
                     aggregation_rmpp_.next_timeout_ns(),
                     job_client_ ? job_client_->next_timeout_ns() : UINT64_MAX});
    return service_ ? std::min(next, service_->next_timeout_ns()) : next;
}

/// Delivers MADs of managers and programs, and copies updates to the arena, until nothing is left.
void Management::drive(std::uint64_t now_ns) {
    for (bool busy = true; busy;) {
        busy = false;
        while (const auto arrived = mesh_.poll_delivery()) {
            busy = true;
            if (!dispatcher_.deliver(*arrived)) {
                if (const auto answer = agent::decline(arrived->packet)) {
                    mesh_.send(arrived->at, *answer, now_ns);
                }
            }
        }
        if (service_ && drive_service(now_ns)) {
            busy = true;
            continue;
        }
        if (drive_aggregation(now_ns)) {
            busy = true;
            continue;
        }
        if (!busy) {
            mesh_.advance(now_ns);  // Sends traps that a sweep may have raised.
            busy = writer_.apply(mesh_);
        }
    }
}

/// Gives our subnet manager the MADs that came for it, and sends one MAD of it. Returns false if it
/// has none to send.
bool Management::drive_service(std::uint64_t now_ns) {
    while (const auto arrived = dispatcher_.poll(service_token_)) {
        service_->handle(arrived->packet, now_ns);
    }
    if (auto packet = service_->poll_transmit(now_ns)) {
        dispatcher_.stamp(service_token_, packet->mad);
        mesh_.send(service_at_, *packet, now_ns);
        return true;
    }
    while (const auto event = service_->poll_event()) {
        tell(*event);
    }
    return false;
}

/// Does the same as drive_service() for the aggregation manager, or for the client of one that is a
/// program.
bool Management::drive_aggregation(std::uint64_t now_ns) {
    while (const auto arrived = dispatcher_.poll(aggregation_token_)) {
        const mad::Packet& packet = arrived->packet;
        if (job_client_) {
            job_client_->handle(packet);
            continue;
        }
        aggregation_rmpp_.handle_mad({packet.slid, packet.source, packet.pkey, packet.sl},
                                     packet.mad, now_ns);
    }
    while (const auto event = aggregation_rmpp_.poll_event()) {
        if (event->kind == mad::RmppEvent::kReceived) {
            aggregation_.handle(event->peer, event->message, now_ns);
        }
    }
    std::optional<mad::Packet> packet;
    if (job_client_) {
        packet = job_client_->poll_transmit(now_ns);
    } else if (const auto reply = aggregation_rmpp_.poll_transmit()) {
        packet = mad::to_packet(*reply);
    } else {
        packet = aggregation_.poll_transmit(now_ns);
    }
    if (packet) {
        dispatcher_.stamp(aggregation_token_, packet->mad);
        mesh_.send(service_at_, *packet, now_ns);
        return true;
    }
    return false;
}

void Management::know_subnet_manager() {
    aggregation_.set_subnet_manager(
        mesh_.node(service_at_.node).port(service_at_.port).master_sm_lid);
}

void Management::freshen_aggregation(std::uint64_t now_ns) {
    know_subnet_manager();
    aggregation_.freshen(now_ns);
}

const sharp::AggregationTables* Management::aggregation_tables(Lid lid) const {
    if (lid > kLidUnicastMax || arena_.lid_owner[lid.value].kind != shm::NodeRef::kSwitch) {
        return nullptr;
    }
    return mesh_.node(switch_nodes_[arena_.lid_owner[lid.value].index]).aggregation();
}

void Management::tell(const sm::ManagerEvent& event) {
    notices_.add(event, service_->manager());
    if (event.kind == sm::ManagerEvent::kRoutingFailed ||
        event.kind == sm::ManagerEvent::kWarning) {
        log_warning("subnet manager: {}", event.text);
    } else if (event.kind == sm::ManagerEvent::kSubnetUp) {
        log_info("subnet manager: subnet is up, {} SMPs sent so far",
                 service_->manager().stats().smps_sent);
        lid_file_.save(service_->manager().lid_ranges());
    }
}

void Management::send(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns) {
    take_violations();
    mesh_.send({hca_nodes_[hca], 1}, packet, now_ns);
    drive(now_ns);
}

agent::MadToken Management::add_host_service(std::vector<agent::MadInterest> interests) {
    return dispatcher_.add({.interests = std::move(interests), .nodes = hca_nodes_});
}

std::optional<Management::Delivery> Management::poll_delivery(agent::MadToken service) {
    auto delivery = dispatcher_.poll(service);
    if (!delivery) {
        return std::nullopt;
    }
    return Delivery{writer_.place(delivery->at.node).index, delivery->packet};
}

void Management::set_trunk(std::size_t trunk, bool up, std::uint64_t now_ns) {
    mesh_.set_plugged({trunk_nodes_[trunk], 1}, up);
    drive(now_ns);
}

void Management::arrive(std::size_t trunk, std::span<const std::uint8_t> bytes,
                        std::uint64_t now_ns) {
    if (const auto inbound = agent::parse_outbound(bytes, trunk_nodes_[trunk])) {
        mesh_.arrive(*inbound, now_ns);
        drive(now_ns);
    }
}

std::optional<Management::TrunkMad> Management::poll_trunk() {
    const auto outbound = mesh_.poll_outbound();
    if (!outbound) {
        return std::nullopt;
    }
    const auto found = std::ranges::find(trunk_nodes_, outbound->node);
    return TrunkMad{static_cast<std::size_t>(found - trunk_nodes_.begin()),
                    agent::emit_outbound(*outbound)};
}

agent::NodeId Management::node_of(const shm::NodeRef& place) const {
    if (place.kind == shm::NodeRef::kHca && place.index < hca_nodes_.size()) {
        return hca_nodes_[place.index];
    }
    if (place.kind == shm::NodeRef::kSwitch && place.index < switch_nodes_.size()) {
        return switch_nodes_[place.index];
    }
    return agent::kNoNode;
}

bool Management::set_plugged(const shm::NodeRef& place, std::uint8_t port, bool plugged,
                             std::uint64_t now_ns) {
    const agent::NodeId node = node_of(place);
    if (node == agent::kNoNode || port == 0 || port > mesh_.node(node).port_count() ||
        mesh_.peer({node, port}).node == agent::kNoNode) {
        return false;
    }
    mesh_.set_plugged({node, port}, plugged);
    drive(now_ns);
    return true;
}

bool Management::set_powered(std::uint32_t sw, bool powered, std::uint64_t now_ns) {
    if (sw >= switch_nodes_.size()) {
        return false;
    }
    mesh_.set_powered(switch_nodes_[sw], powered);
    if (service_ && powered && switch_nodes_[sw] == service_at_.node) {
        mesh_.set_capability(service_at_, wire::port_capability::kIsSM, true);
        service_->manager().resweep(now_ns);
    }
    drive(now_ns);
    return true;
}

bool Management::set_route(std::uint32_t sw, Lid lid, std::uint8_t port, std::uint64_t now_ns) {
    if (sw >= switch_nodes_.size() || lid > kLidUnicastMax) {
        return false;
    }
    mesh_.set_route(switch_nodes_[sw], lid, port);
    drive(now_ns);
    return true;
}

bool Management::set_pkey(std::uint32_t hca, std::uint16_t index, PKey pkey, std::uint64_t now_ns) {
    if (hca >= hca_nodes_.size()) {
        return false;
    }
    mesh_.set_pkey({hca_nodes_[hca], 1}, index, pkey);
    if (service_) {
        service_->manager().resweep(now_ns);  // The manager must see the change.
    }
    drive(now_ns);
    return true;
}

bool Management::set_partitions(std::vector<sm::Partition> partitions, std::uint64_t now_ns) {
    if (!service_) {
        return false;
    }
    service_->set_partitions(std::move(partitions), now_ns);
    drive(now_ns);
    return true;
}

void Management::refuse(const shm::request::Refused& packet, std::uint64_t now_ns) {
    switch (packet.where) {
        case shm::request::Refused::kSwitchOut:
        case shm::request::Refused::kSwitchIn:
            refuse_passage(packet);
            break;
        case shm::request::Refused::kAdapterPKey:
        case shm::request::Refused::kAdapterQKey:
            refuse_at_end(packet);
            break;
    }
    drive(now_ns);
}

void Management::refuse_at_end(const shm::request::Refused& packet) {
    if (packet.place >= hca_nodes_.size()) {
        return;
    }
    const bool is_qkey = packet.where == shm::request::Refused::kAdapterQKey;
    wire::BadKeyTrap seen;
    seen.lid1 = packet.slid;
    seen.lid2 = packet.dlid;
    seen.key = is_qkey ? packet.key : packet.key & 0xFFFF;
    seen.sl = packet.sl & 0xF;
    seen.qp1 = Qpn{packet.source_qpn.value & 0xFFFFFF};
    seen.qp2 = Qpn{packet.dest_qpn.value & 0xFFFFFF};
    mesh_.bad_key({hca_nodes_[packet.place], 1}, seen, is_qkey, 0);
}

/// Adds the key violations that programs counted to the PortInfo of their ports.
void Management::take_violations() {
    const std::uint64_t now = arena_.header->key_violations.load(std::memory_order_acquire);
    if (now == violations_) {
        return;
    }
    violations_ = now;
    violations_of_.resize(hca_nodes_.size());
    for (std::size_t i = 0; i < hca_nodes_.size(); ++i) {
        const shm::PortTotals& totals = arena_.hcas[i].totals;
        const Violations found{totals.pkey_violations.load(std::memory_order_relaxed),
                               totals.qkey_violations.load(std::memory_order_relaxed)};
        mesh_.add_violations({hca_nodes_[i], 1}, found.pkeys - violations_of_[i].pkeys,
                             found.qkeys - violations_of_[i].qkeys);
        violations_of_[i] = found;
    }
}

std::optional<agent::End> Management::switch_port(std::uint32_t index) const {
    const std::span<const shm::SwitchRecord> switches(arena_.switches, arena_.header->switches);
    const auto next = std::ranges::upper_bound(switches, index, {}, &shm::SwitchRecord::port_first);
    if (next == switches.begin() || index >= arena_.header->switch_ports) {
        return std::nullopt;
    }
    const auto sw = static_cast<std::size_t>(next - switches.begin()) - 1;
    return agent::End{switch_nodes_[sw],
                      static_cast<std::uint8_t>(index - switches[sw].port_first)};
}

void Management::tell_bad_link(const shm::request::BadLink& link, std::uint64_t now_ns) {
    const bool known = link.trap == wire::trap::kLocalLinkIntegrity ||
                       link.trap == wire::trap::kExcessiveBufferOverrun ||
                       link.trap == wire::trap::kFlowControlWatchdog;
    std::optional<agent::End> at;
    if (link.at_switch) {
        at = switch_port(link.place);
    } else if (link.place < hca_nodes_.size()) {
        at = agent::End{hca_nodes_[link.place], 1};
    }
    if (at && known) {
        mesh_.link_fault(*at, link.trap);
        drive(now_ns);
    }
}

void Management::refuse_passage(const shm::request::Refused& packet) {
    const auto place = switch_port(packet.place);
    if (!place) {
        return;
    }
    const agent::End at = *place;
    const bool inbound = packet.where == shm::request::Refused::kSwitchIn;
    const PKey pkey{static_cast<std::uint16_t>(packet.key)};
    // The report of a program is not trusted.
    if (mesh_.node(at.node).lets_pass(at.port, inbound, pkey)) {
        return;
    }
    wire::BadSwitchPKeyTrap seen;
    seen.lid1 = packet.slid;
    seen.lid2 = packet.dlid;
    seen.pkey = pkey;
    seen.sl = packet.sl & 0xF;
    seen.qp1 = Qpn{packet.source_qpn.value & 0xFFFFFF};
    seen.qp2 = Qpn{packet.dest_qpn.value & 0xFFFFFF};
    mesh_.refuse_passage(at, inbound, seen, 0);
}

void Management::set_is_manager(std::uint32_t hca, bool is_manager, std::uint64_t now_ns) {
    mesh_.set_capability({hca_nodes_[hca], 1}, wire::port_capability::kIsSM, is_manager);
    drive(now_ns);
}

// On the direct path the daemon settles; on the packet path the carrier writes the totals.
void Management::refresh() {
    if (is_packet_path(arena_)) {
        ask_for_counts(arena_);
        return;
    }
    settle_all(arena_, shm::kDaemonOwner);
    if (settler_) {
        settler_();
    }
}

counters::PortCounts Management::read(std::uint32_t node, std::uint8_t port) {
    const shm::NodeRef& place = writer_.place(node);
    if (place.kind == shm::NodeRef::kHca) {
        return shm::read_totals(arena_.hcas[place.index].totals);
    }
    if (place.kind == shm::NodeRef::kSwitch && port < arena_.switches[place.index].port_count) {
        return shm::read_totals(
            arena_.switch_ports[arena_.switches[place.index].port_first + port].totals);
    }
    return {};
}

wire::SharpPerformanceCounters Management::read_aggregation(std::uint32_t node) {
    constexpr auto kCounters = wire::SharpPerformanceCounters::counters();
    static_assert(kCounters.size() == shm::kAggregationCounters);
    wire::SharpPerformanceCounters counted;
    const shm::NodeRef& place = writer_.place(node);
    for (std::size_t i = 0; place.kind == shm::NodeRef::kSwitch && i < kCounters.size(); ++i) {
        counted.*kCounters[i] =
            arena_.switches[place.index].aggregation[i].load(std::memory_order_relaxed);
    }
    return counted;
}

counters::LaneCounts Management::read_lanes(std::uint32_t node, std::uint8_t port) {
    counters::LaneCounts counts;
    const shm::NodeRef& place = writer_.place(node);
    const shm::PortLanes* from = nullptr;
    if (!is_packet_path(arena_)) {
        return counts;
    }
    if (place.kind == shm::NodeRef::kHca) {
        from = &arena_.hca_lanes(place.index);
    } else if (place.kind == shm::NodeRef::kSwitch &&
               port < arena_.switches[place.index].port_count) {
        from = &arena_.switch_lanes(arena_.switches[place.index].port_first + port);
    }
    for (std::size_t kind = 0; kind < counters::kPerLaneKinds && from != nullptr; ++kind) {
        for (std::size_t i = 0; i < counts.of[kind].size(); ++i) {
            counts.of[kind][i] = from->counts[kind][i].load(std::memory_order_relaxed);
        }
    }
    return counts;
}

}  // namespace softib::daemon
