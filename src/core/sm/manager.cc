// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/manager.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::sm {

namespace {

constexpr std::uint64_t kAgainFirstNs = 500'000'000;
constexpr std::uint64_t kAgainLastNs = 60'000'000'000;

}  // namespace

Manager::Manager(ManagerConfig config) : config_(std::move(config)), client_(config_.limits) {}

void Manager::start(std::uint64_t now_ns) {
    stopped_ = false;
    set_state(wire::SmState::kDiscovering);
    full_wanted_ = true;
    next_sweep_ns_ = now_ns;
    advance(now_ns);
}

void Manager::stop() {
    stopped_ = true;
    client_.forget_all();
    queue_.clear();
    replies_.clear();
    phase_ = Phase::kIdle;
    set_state(wire::SmState::kNotActive);
}

void Manager::set_state(wire::SmState state) {
    if (state_ != state) {
        state_ = state;
        heir_.reset();
        heir_due_ns_ = 0;
        event({.kind = ManagerEvent::kStateChanged});
    }
}

Lid Manager::own_lid() const {
    if (root_ == kNoNode) {
        return kLidUnassigned;
    }
    return subnet_.port({root_, config_.port}).info.lid;
}

std::uint8_t Manager::sl(Lid source, Lid destination, std::uint8_t wanted) const {
    if (!graph_ || !routing_needs_lanes()) {
        return wanted;
    }
    const unsigned needed = tables_.sls.uniform() ? 0U : tables_.sl(*graph_, source, destination);
    return static_cast<std::uint8_t>(needed | (wanted & tables_.free_sl_bits));
}

void Manager::resweep(std::uint64_t now_ns) {
    full_wanted_ = true;
    advance(now_ns);
}

void Manager::set_engine(const std::string& engine, std::uint64_t now_ns) {
    config_.engine = engine;
    topology_changed_ = true;  // So that the next sweep routes again.
    resweep(now_ns);
}

void Manager::set_partitions(std::vector<Partition> partitions, std::uint64_t now_ns) {
    config_.partitions = std::move(partitions);
    resweep(now_ns);
}

void Manager::set_groups(std::vector<McastTree> groups, std::uint64_t now_ns) {
    groups_ = std::move(groups);
    groups_changed_ = true;
    advance(now_ns);
}

SmpRequest Manager::get(Purpose::Kind kind, wire::SmAttribute attribute, const DirectedPath& path,
                        NodeIndex node, std::uint8_t port, std::uint32_t modifier) const {
    SmpRequest request;
    request.purpose = {kind, port, node, modifier};
    request.path = path;
    request.attribute = attribute;
    request.modifier = modifier;
    return request;
}

void Manager::enter(Phase phase, std::uint64_t now_ns) {
    phase_ = phase;
    switch (phase) {
        case Phase::kDiscover:
            ++sweep_;
            ++act_count_;
            present_before_.resize(subnet_.size());
            for (NodeIndex i = 0; i < subnet_.size(); ++i) {
                present_before_[i] = subnet_.node(i).present;
            }
            if (full_wanted_ || root_ == kNoNode) {
                full_wanted_ = false;
                dirty_.clear();
                begin_full();
            } else {
                begin_partial();
            }
            break;
        case Phase::kSetup:
            begin_setup();
            break;
        case Phase::kTables:
            begin_tables();
            break;
        case Phase::kAdaptive:
            begin_adaptive();
            break;
        case Phase::kActivate:
            begin_activate();
            break;
        case Phase::kIdle:
            if (state_ == wire::SmState::kStandby) {
                next_sweep_ns_ = now_ns + config_.poll_period_ns;
                break;
            }
            if (!again_) {
                again_ns_ = 0;
                again_due_ns_ = UINT64_MAX;
            } else if (again_due_ns_ == UINT64_MAX) {
                again_ns_ = std::clamp(again_ns_ * 2, kAgainFirstNs, kAgainLastNs);
                again_due_ns_ = now_ns + again_ns_;
            }
            schedule_sweep(now_ns);
            break;
    }
}

void Manager::schedule_sweep(std::uint64_t now_ns) {
    next_sweep_ns_ =
        std::min(config_.sweep_period_ns == 0 ? UINT64_MAX : now_ns + config_.sweep_period_ns,
                 again_due_ns_);
}

/// Goes on to the next phase if all requests of this one are answered or lost.
void Manager::advance(std::uint64_t now_ns) {
    while (!stopped_ && queue_.empty() && client_.idle()) {
        switch (phase_) {
            case Phase::kIdle:
                if (state_ == wire::SmState::kStandby) {
                    return;
                }
                if (light_sweep_) {
                    light_sweep_ = false;
                    schedule_sweep(now_ns);
                }
                if (full_wanted_ || !dirty_.empty()) {
                    enter(Phase::kDiscover, now_ns);
                } else if (state_ != wire::SmState::kMaster || !graph_) {
                    return;
                } else if (aliases_changed_) {
                    enter(Phase::kSetup, now_ns);
                } else if (groups_changed_) {
                    enter(Phase::kTables, now_ns);
                } else {
                    return;
                }
                break;
            case Phase::kDiscover:
                end_discovery();
                elect(now_ns);
                if (state_ != wire::SmState::kMaster) {
                    enter(Phase::kIdle, now_ns);
                    return;
                }
                enter(Phase::kSetup, now_ns);
                break;
            case Phase::kSetup:
                enter(Phase::kTables, now_ns);
                break;
            case Phase::kTables:
                if (lft_rank_ < switch_of_rank_.size()) {
                    return;  // poll_transmit() makes the request for the next LFT block.
                }
                enter(config_.adaptive_routing ? Phase::kAdaptive : Phase::kActivate, now_ns);
                break;
            case Phase::kAdaptive:
                if (!queue_adaptive()) {
                    enter(Phase::kActivate, now_ns);
                }
                break;
            case Phase::kActivate:
                enter(Phase::kIdle, now_ns);
                event({.kind = ManagerEvent::kSubnetUp});
                break;
        }
    }
}

/// Gives a request the path that leads to its node now, which may have changed since the request
/// was queued. Returns false if there is no path; if this sweep finds one, the node is read as if
/// it were new.
bool Manager::aim(SmpRequest& request) {
    const Purpose& purpose = request.purpose;
    if (purpose.node == kNoNode) {
        return true;
    }
    SubnetNode& node = subnet_.node(purpose.node);
    if (!node.present) {
        node.seen = 0;
        return false;
    }
    request.path = node.path;
    if (purpose.kind == Purpose::kNodeInfo) {
        if (request.path.hops == kHopsMax) {
            return false;
        }
        request.path.ports[++request.path.hops] = purpose.port;
    }
    // A Set(GUIDInfo) writes the port of an HCA by which it arrives.
    if (purpose.kind == Purpose::kSetGuids && !node.is_switch() &&
        purpose.port != node.entry_port) {
        SubnetPort& port = node.ports[purpose.port];
        if (port.peer == kNoNode || !subnet_.node(port.peer).present ||
            subnet_.node(port.peer).path.hops == kHopsMax) {
            port.guids.clear();
            return false;
        }
        request.path = subnet_.node(port.peer).path;
        request.path.ports[++request.path.hops] = port.peer_port;
    }
    return true;
}

std::optional<Manager::Transmit> Manager::poll_transmit(std::uint64_t now_ns) {
    if (!replies_.empty()) {
        Transmit reply = std::move(replies_.front());
        replies_.pop_front();
        return reply;
    }
    if (stopped_) {
        return std::nullopt;
    }
    if (const auto again = client_.poll_resend()) {
        ++stats_.smps_sent;
        return Transmit{*again, kLidPermissive};
    }
    while (client_.has_room()) {
        std::optional<SmpRequest> request;
        if (!queue_.empty()) {
            request = std::move(queue_.front());
            queue_.pop_front();
            if (!aim(*request)) {
                continue;
            }
        } else if (phase_ == Phase::kTables) {
            request = next_lft_block();
        }
        if (!request) {
            const Phase before = phase_;
            const std::uint32_t sweep = sweep_;
            advance(now_ns);
            if ((phase_ == before && sweep_ == sweep && queue_.empty()) || !client_.has_room()) {
                return std::nullopt;
            }
            continue;
        }
        ++stats_.smps_sent;
        // A Get(SMInfo) goes to a program that claims to be a subnet manager. It must not learn our
        // M_Key.
        const std::uint64_t mkey =
            request->attribute == wire::SmAttribute::kSmInfo ? 0 : config_.mkey;
        return Transmit{client_.start(*request, mkey, now_ns), kLidPermissive};
    }
    return std::nullopt;
}

std::optional<ManagerEvent> Manager::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    ManagerEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

void Manager::handle(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns) {
    if (stopped_) {
        return;
    }
    const wire::Mad<const std::uint8_t> header(mad);
    switch (header.method()) {
        case wire::Method::kGetResp:
            if (const auto answer = client_.handle(mad)) {
                answered(*answer, now_ns);
                advance(now_ns);
            }
            break;
        case wire::Method::kTrap:
            handle_trap(mad, slid, now_ns);
            break;
        case wire::Method::kGet:
        case wire::Method::kSet:
            if (header.attribute_id() == static_cast<std::uint16_t>(wire::SmAttribute::kSmInfo)) {
                handle_sm_info(mad, slid, now_ns);
            }
            break;
        default:
            break;
    }
}

void Manager::answered(const SmpAnswer& answer, std::uint64_t now_ns) {
    if (answer.purpose.kind == Purpose::kAdaptiveInfo && !answer.lost) {
        got_adaptive_info(answer);
        return;
    }
    if (answer.lost || answer.status != wire::mad_status::kOk) {
        unreachable(answer);
        return;
    }
    switch (answer.purpose.kind) {
        case Purpose::kNodeInfo:
            found(answer);
            break;
        case Purpose::kNodeDescription: {
            const std::string_view text(reinterpret_cast<const char*>(answer.data.data()),
                                        answer.data.size());
            subnet_.node(answer.purpose.node).description = text.substr(0, text.find('\0'));
            break;
        }
        case Purpose::kSwitchInfo:
            got_switch_info(answer);
            break;
        case Purpose::kPortInfo:
        case Purpose::kSetPortInfo:
            got_port_info(answer);
            break;
        case Purpose::kPKeyTable:
            got_pkeys(answer);
            break;
        case Purpose::kLightSweep:
            got_light_sweep(answer);
            break;
        case Purpose::kSmInfo:
            got_sm_info(answer, now_ns);
            break;
        default:
            break;
    }
}

void Manager::handle_timeout(std::uint64_t now_ns) {
    if (stopped_) {
        return;
    }
    client_.handle_timeout(now_ns);
    while (const auto lost = client_.poll_lost()) {
        unreachable(*lost);
    }
    if (state_ == wire::SmState::kStandby && silences_ != 0) {
        next_sweep_ns_ = now_ns;
    }
    if (may_verify()) {
        verify();
    }
    if (now_ns >= next_sweep_ns_ && may_sweep()) {
        if (state_ == wire::SmState::kStandby) {
            poll_master(now_ns);
        } else if (now_ns >= again_due_ns_) {
            again_ = false;
            again_due_ns_ = UINT64_MAX;
            full_wanted_ = true;
        } else if (state_ == wire::SmState::kMaster) {
            light_sweep_ = true;
            for (NodeIndex i = 0; i < subnet_.size(); ++i) {
                const SubnetNode& node = subnet_.node(i);
                if (node.present && node.is_switch()) {
                    queue(get(Purpose::kLightSweep, wire::SmAttribute::kSwitchInfo, node.path, i, 0,
                              0));
                }
            }
            schedule_sweep(now_ns);
        }
    }
    advance(now_ns);
}

std::uint64_t Manager::next_timeout_ns() const {
    if (stopped_) {
        return UINT64_MAX;
    }
    if (may_verify()) {
        return 0;
    }
    // A sweep waits until all earlier requests are answered or lost.
    return may_sweep() ? next_sweep_ns_ : client_.next_timeout_ns();
}

void Manager::handle_trap(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns) {
    if (state_ != wire::SmState::kMaster) {
        return;
    }
    const wire::Smp<const std::uint8_t> smp(mad);
    const auto notice = wire::parse<wire::Notice>(smp.data());
    const Lid issuer = notice.issuer_lid != kLidUnassigned ? notice.issuer_lid : slid;
    Transmit reply{mad, issuer};
    const wire::Mad<std::uint8_t> header(reply.mad);
    header.set_method(wire::Method::kTrapRepress);
    header.set_status(0);
    wire::Smp<std::uint8_t>(reply.mad).set_mkey(config_.mkey);
    replies_.push_back(std::move(reply));
    ManagerEvent seen{.kind = ManagerEvent::kTrap};
    seen.notice = notice;
    const std::optional<EndPort> from = subnet_.by_lid(issuer);
    if (from) {
        seen.node = from->node;
        seen.port = from->port;
        if (notice.trap_number == wire::trap::kLinkStateChanged &&
            subnet_.node(from->node).is_switch()) {
            dirty_.insert(from->node);
            // The link that changed may be why the last sweep failed, so the next need not wait.
            again_ns_ = 0;
            again_due_ns_ = again_due_ns_ == UINT64_MAX
                                ? UINT64_MAX
                                : std::min(again_due_ns_, now_ns + kAgainFirstNs);
        } else if (notice.trap_number == wire::trap::kLocalChanges) {
            const SubnetNode& node = subnet_.node(from->node);
            queue(get(Purpose::kNodeDescription, wire::SmAttribute::kNodeDescription, node.path,
                      from->node, 0, 0));
            queue(get(Purpose::kPortInfo, wire::SmAttribute::kPortInfo, node.path, from->node,
                      from->port, from->port));
        }
    } else if (notice.trap_number == wire::trap::kLinkStateChanged) {
        full_wanted_ = true;  // The switch is just coming back, and its LID is not known yet.
    }
    event(std::move(seen));
    advance(now_ns);
}

}  // namespace softib::sm
