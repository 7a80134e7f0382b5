// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/service/subnet_service.h"

#include <algorithm>
#include <utility>

#include "core/sm/sa/partition_groups.h"

namespace softib::sm {

namespace {

using wire::MgmtClass;
using wire::SmState;

constexpr std::uint64_t kReplicaPeriodNs = 20'000'000;
constexpr std::size_t kRepliesMax = 1024;
bool is_subnet(MgmtClass mgmt_class) {
    return mgmt_class == MgmtClass::kSubnLidRouted || mgmt_class == MgmtClass::kSubnDirectedRoute;
}

SaConfig admin_config(const Manager& manager) {
    SaConfig admin;
    if (manager.config().sm_key != 0) {
        admin.sm_key = manager.config().sm_key;
    }
    admin.port_guid = manager.config().port_guid;
    admin.paths.sl = [&manager](Lid from, Lid to, std::uint8_t wanted) {
        return manager.sl(from, to, wanted);
    };
    return admin;
}

}  // namespace

SubnetService::SubnetService(ManagerConfig config)
    : manager_(std::move(config)), admin_(manager_.subnet(), admin_config(manager_)) {
    add_groups(0);
    fresh_ = admin_.snapshot(0);
}

/// Adds the groups that the partitions ask for. A group of theirs that exists already gets the MTU,
/// rate and SL that they ask for now.
void SubnetService::add_groups(std::uint64_t now_ns) {
    for (const wire::McMemberRecord& group : partition_groups(manager_.config().partitions)) {
        static_cast<void>(admin_.add_group(group, now_ns));
    }
}

void SubnetService::set_partitions(std::vector<Partition> partitions, std::uint64_t now_ns) {
    manager_.set_partitions(std::move(partitions), now_ns);
    add_groups(now_ns);
}

void SubnetService::start(std::uint64_t now_ns) {
    manager_.start(now_ns);
}

void SubnetService::handle(const mad::Packet& packet, std::uint64_t now_ns) {
    const MgmtClass mgmt_class = wire::Mad<const std::uint8_t>(packet.mad).mgmt_class();
    if (is_subnet(mgmt_class)) {
        manager_.handle(packet.mad, packet.slid, now_ns);
    } else if (mgmt_class == kReplicaClass) {
        handle_replica(packet);
    } else if (mgmt_class == MgmtClass::kSubnAdm) {
        rmpp_.handle_mad({packet.slid, packet.source, packet.pkey, packet.sl}, packet.mad, now_ns);
    }
}

void SubnetService::handle_timeout(std::uint64_t now_ns) {
    if (manager_.next_timeout_ns() <= now_ns) {
        manager_.handle_timeout(now_ns);
    }
    rmpp_.handle_timeout(now_ns);
    admin_.handle_timeout(now_ns);
    for (auto& [guid, copy] : copies_) {
        copy.sender.handle_timeout(now_ns);
    }
}

std::uint64_t SubnetService::next_timeout_ns() const {
    std::uint64_t next =
        std::min({manager_.next_timeout_ns(), rmpp_.next_timeout_ns(), admin_.next_timeout_ns()});
    if (may_replicate() && replica_due_ns_ != 0) {
        next = std::min(next, replica_due_ns_);
    } else if (may_replicate() && heir_is_ready()) {
        next = std::min(next, manager_.heir_due_ns());
    }
    for (const auto& [guid, copy] : copies_) {
        next = std::min(next, copy.sender.next_timeout_ns());
    }
    return next;
}

std::optional<mad::Packet> SubnetService::poll_manager(std::uint64_t now_ns) {
    const auto out = manager_.poll_transmit(now_ns);
    if (!out) {
        return std::nullopt;
    }
    mad::Packet packet;
    packet.mad = out->mad;
    packet.dlid = out->dlid;
    return packet;
}

std::optional<mad::Packet> SubnetService::poll_transmit(std::uint64_t now_ns) {
    if (auto packet = poll_manager(now_ns)) {
        return packet;
    }
    follow_manager(now_ns);
    answer(now_ns);
    follow_groups(now_ns);
    follow_guids(now_ns);
    replicate(now_ns);
    if (auto piece = poll_replica(now_ns)) {
        return piece;
    }
    if (const auto out = rmpp_.poll_transmit()) {
        return mad::to_packet(*out);
    }
    return poll_manager(now_ns);  // Groups that have just changed may need their trees written.
}

std::optional<ManagerEvent> SubnetService::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    ManagerEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

void SubnetService::follow_manager(std::uint64_t now_ns) {
    while (auto event = manager_.poll_event()) {
        follow(*event, now_ns);
        events_.push_back(std::move(*event));
    }
}

void SubnetService::follow(const ManagerEvent& event, std::uint64_t now_ns) {
    const Subnet& subnet = manager_.subnet();
    switch (event.kind) {
        case ManagerEvent::kPortAppeared: {
            const EndPort port{event.node, event.port};
            admin_.report_port(gid_of(subnet, port), true, subnet.port(port).pkeys, now_ns);
            break;
        }
        case ManagerEvent::kPortVanished: {
            const Gid gid = Gid::from(manager_.config().gid_prefix, event.guid);
            const auto port = subnet.by_port_guid(event.guid);
            admin_.report_port(gid, false, port ? subnet.port(*port).pkeys : std::vector<PKey>{},
                               now_ns);
            admin_.forget_port(gid, now_ns);
            break;
        }
        case ManagerEvent::kTrap:
            admin_.report_trap(event.notice, now_ns);
            break;
        case ManagerEvent::kSubnetUp: {
            std::vector<wire::SmInfoRecord> managers;
            managers.push_back({.lid = manager_.own_lid(), .sm_info = manager_.own_info()});
            for (const auto& [guid, other] : manager_.others()) {
                managers.push_back({.lid = subnet.port(other.at).info.lid, .sm_info = other.info});
            }
            admin_.set_managers(std::move(managers));
            break;
        }
        case ManagerEvent::kStateChanged:
            copies_.clear();
            if (manager_.state() == SmState::kStandby && was_master_) {
                // Under another master the SA's data is a copy of that master's, or empty.
                replica_ = fresh_;
            } else if (manager_.state() == SmState::kMaster && !replica_.empty()) {
                // A malformed copy changes nothing; ports register again in any case.
                static_cast<void>(admin_.restore(replica_, now_ns));
                replica_.clear();
                manager_.set_aliases(admin_.guids().all(), now_ns);
            }
            was_master_ = manager_.state() == SmState::kMaster;
            break;
        default:
            break;
    }
}

void SubnetService::send(const SaPeer& to, std::vector<std::uint8_t> message,
                         std::uint64_t now_ns) {
    std::vector<std::uint8_t> busy = SubnetAdmin::busy_instead(message);
    const mad::RmppPeer peer{to.lid, to.qp, to.pkey, to.sl};
    const auto sent = rmpp_.send(peer, std::move(message), 0, now_ns);
    // A requester that has too many answers under way is told to ask again later.
    if (!sent && sent.error() == mad::RmppRefusal::kBusy) {
        static_cast<void>(rmpp_.send(peer, std::move(busy), 0, now_ns));
    }
}

/// Passes whole requests to the SA, and sends its answers and reports.
void SubnetService::answer(std::uint64_t now_ns) {
    while (auto event = rmpp_.poll_event()) {
        const mad::RmppPeer& peer = event->peer;
        if (event->kind == mad::RmppEvent::kReceived && manager_.state() == SmState::kMaster) {
            admin_.submit(std::move(event->message), {peer.lid, peer.qp, peer.pkey, peer.sl});
        }
    }
    while (auto answer = admin_.poll_answer(now_ns)) {
        send(answer->to, std::move(answer->message), now_ns);
    }
    while (auto report = admin_.poll_report()) {
        send(report->to, std::move(report->message), now_ns);
    }
}

/// Routes a group again when a port has joined or left it.
void SubnetService::follow_groups(std::uint64_t now_ns) {
    bool any = false;
    while (const std::optional<Lid> mlid = admin_.poll_changed_mlid()) {
        any = true;
        std::erase_if(trees_, [&](const McastTree& tree) { return tree.mlid == *mlid; });
        McastTree tree{*mlid, {}};
        for (const auto& member : admin_.members_of(*mlid)) {
            tree.members.push_back(member.port);
        }
        if (!tree.members.empty()) {
            trees_.push_back(std::move(tree));
        }
    }
    if (any) {
        manager_.set_groups(trees_, now_ns);
    }
}

/// Tells the manager to write alias GUIDs into their ports when they change.
void SubnetService::follow_guids(std::uint64_t now_ns) {
    bool any = false;
    while (admin_.guids().poll_change()) {
        any = true;
    }
    if (any) {
        manager_.set_aliases(admin_.guids().all(), now_ns);
    }
}

bool SubnetService::may_replicate() const {
    return manager_.state() == SmState::kMaster && manager_.settled();
}

/// Returns whether the heir has our whole snapshot, or has shown that it takes none. An heir that
/// is a master too, because two subnets have become one, has data of its own.
bool SubnetService::heir_is_ready() const {
    const auto other =
        manager_.heir() ? manager_.others().find(manager_.heir()->value) : manager_.others().end();
    if (other != manager_.others().end() && other->second.info.sm_state == SmState::kMaster) {
        return true;
    }
    const auto copy = manager_.heir() ? copies_.find(manager_.heir()->value) : copies_.end();
    return copy != copies_.end() && copy->second.sender.over() &&
           copy->second.sender.revision() == admin_.revision();
}

void SubnetService::replicate(std::uint64_t now_ns) {
    if (!may_replicate() || now_ns < replica_due_ns_) {
        return;
    }
    replica_due_ns_ = 0;
    std::vector<std::uint8_t> snapshot;
    for (const auto& [guid, other] : manager_.others()) {
        const Lid lid = manager_.subnet().port(other.at).info.lid;
        const auto copy = copies_.find(guid);
        if (other.info.sm_state == SmState::kMaster || other.info.sm_state == SmState::kNotActive ||
            lid == kLidUnassigned ||
            (copy != copies_.end() && copy->second.sender.revision() == admin_.revision())) {
            continue;
        }
        if (snapshot.empty()) {
            snapshot = admin_.snapshot(now_ns);
        }
        // A manager that is not softib's does not take the copy, and gets none until the next
        // change.
        copies_.insert_or_assign(
            guid, Copy{{snapshot, admin_.revision(), manager_.config().sm_key, ++transfers_}, lid});
        replica_due_ns_ = now_ns + kReplicaPeriodNs;
    }
    std::erase_if(copies_,
                  [&](const auto& copy) { return !manager_.others().contains(copy.first); });
    if (heir_is_ready() && now_ns >= manager_.heir_due_ns()) {
        manager_.hand_over_now(now_ns);
    }
}

std::optional<mad::Packet> SubnetService::poll_replica(std::uint64_t now_ns) {
    if (!replies_.empty()) {
        const mad::Packet reply = replies_.front();
        replies_.pop_front();
        return reply;
    }
    for (auto& [guid, copy] : copies_) {
        if (const auto mad = copy.sender.poll_transmit(now_ns)) {
            return mad::to_packet({{.lid = copy.lid}, *mad});
        }
    }
    return std::nullopt;
}

void SubnetService::handle_replica(const mad::Packet& packet) {
    if (wire::Mad<const std::uint8_t>(packet.mad).method() == wire::Method::kGetResp) {
        for (auto& [guid, copy] : copies_) {
            if (copy.lid == packet.slid) {
                copy.sender.handle(packet.mad);
            }
        }
        return;
    }
    if (manager_.state() == SmState::kMaster || replies_.size() >= kRepliesMax) {
        return;
    }
    if (const auto answer = receiver_.handle(packet.mad, packet.slid, manager_.config().sm_key)) {
        mad::Packet reply = packet;
        reply.mad = *answer;
        std::swap(reply.slid, reply.dlid);
        std::swap(reply.source, reply.destination);
        replies_.push_back(reply);
    }
    if (auto whole = receiver_.take()) {
        replica_ = std::move(*whole);
    }
}

}  // namespace softib::sm
