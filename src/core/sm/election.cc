// SPDX-License-Identifier: BSD-2-Clause
// Several managers on one subnet: the one with the highest priority, then the lowest GUID, is
// master; the others stand by and poll it (IBA vol. 1, 14.4). A manager with another SM_Key does
// not count.
#include <algorithm>

#include "core/sm/manager.h"

namespace softib::sm {

namespace {

using wire::SmAttribute;
using wire::SmInfo;
using wire::SmInfoControl;
using wire::SmState;

constexpr std::uint64_t kOfferPeriodNs = 500'000'000;

/// Returns whether `a` has a better claim to the subnet than `b`: the higher priority, then the
/// lower GUID.
bool has_better_claim(const SmInfo& a, const SmInfo& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.guid < b.guid;
}

/// Replaces `best` by `other` if `other` has the better claim.
void prefer(const Manager::Other*& best, const Manager::Other& other) {
    if (best == nullptr || has_better_claim(other.info, best->info)) {
        best = &other;
    }
}

SmpRequest control(const SmInfo& own, SmInfoControl what, const DirectedPath& path, EndPort to) {
    SmpRequest request;
    request.purpose = {Purpose::kSmInfo, to.port, to.node, static_cast<std::uint32_t>(what)};
    request.path = path;
    request.method = wire::Method::kSet;
    request.attribute = SmAttribute::kSmInfo;
    request.modifier = static_cast<std::uint32_t>(what);
    wire::emit(own, request.data);
    return request;
}

}  // namespace

SmInfo Manager::own_info() const {
    SmInfo info;
    info.guid = config_.port_guid;
    info.sm_key = config_.sm_key;
    info.act_count = act_count_;
    info.priority = config_.priority;
    info.sm_state = state_;
    return info;
}

/// Returns whether another manager has a better claim to the subnet than this one.
bool Manager::outranks(const SmInfo& other) const {
    return has_better_claim(other, own_info());
}

/// Returns a Get(SMInfo) to another manager. It is repeated only once, since the whole subnet waits
/// for the election.
SmpRequest Manager::ask_manager(EndPort at) const {
    SmpRequest request = get(Purpose::kSmInfo, SmAttribute::kSmInfo, subnet_.node(at.node).path,
                             at.node, at.port, 0);
    request.retries = 1;
    return request;
}

void Manager::handle_sm_info(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> request(mad);
    const bool directed = request.mgmt_class() == wire::MgmtClass::kSubnDirectedRoute;
    const auto theirs = wire::parse<SmInfo>(wire::Smp<const std::uint8_t>(mad).data());
    const bool is_set = request.method() == wire::Method::kSet;
    const auto what = static_cast<SmInfoControl>(request.attribute_modifier());
    if (is_set && theirs.sm_key != config_.sm_key) {
        return;  // A manager with another SM_Key learns nothing and changes nothing.
    }
    const std::uint16_t status = is_set ? obey(what, theirs, now_ns) : wire::mad_status::kOk;
    Transmit reply{mad, directed ? kLidPermissive : slid};
    const wire::Smp<std::uint8_t> out(reply.mad);
    wire::Mad<std::uint8_t>(reply.mad).set_method(wire::Method::kGetResp);
    out.set_status(status);
    out.set_direction(directed);
    std::ranges::fill(out.data(), std::uint8_t{0});
    // A Get has no SM_Key that could show trust, and OpenSM too answers it with its own.
    wire::emit(own_info(), out.data());
    replies_.push_back(std::move(reply));
    if (is_set && what == SmInfoControl::kHandover && state_ != SmState::kNotActive) {
        take_over_from(theirs.guid);
    }
    advance(now_ns);
}

/// Carries out another manager's Set(SMInfo), except for a HANDOVER, which must be answered first.
/// Returns the status of the answer.
std::uint16_t Manager::obey(SmInfoControl what, const SmInfo& theirs, std::uint64_t now_ns) {
    switch (what) {
        case SmInfoControl::kHandover:
            break;
        case SmInfoControl::kAcknowledge:
            if (const auto found = others_.find(theirs.guid.value);
                state_ == SmState::kMaster && found != others_.end() && found->second.offered) {
                found->second.info = theirs;
                follow(found->second, now_ns);
            }
            break;
        case SmInfoControl::kDisable:
            if (state_ == SmState::kStandby) {
                set_state(SmState::kNotActive);
            }
            break;
        case SmInfoControl::kStandby:
            if (state_ == SmState::kNotActive || state_ == SmState::kDiscovering) {
                set_state(SmState::kStandby);
                next_sweep_ns_ = now_ns + config_.poll_period_ns;
            }
            break;
        case SmInfoControl::kDiscover:
            if (state_ == SmState::kStandby) {
                set_state(SmState::kDiscovering);
                full_wanted_ = true;
            }
            break;
        default:
            return wire::mad_status::kInvalidField;
    }
    return wire::mad_status::kOk;
}

/// Becomes master in the place of the manager that hands the subnet over.
void Manager::take_over_from(Guid guid) {
    if (const auto found = others_.find(guid.value); found != others_.end()) {
        Other& other = found->second;
        if (other.info.sm_state == SmState::kMaster) {
            // The other master may have replaced the tables that we wrote.
            topology_changed_ = true;
            for (NodeIndex i = 0; i < subnet_.size(); ++i) {
                subnet_.node(i).tables_known = false;
            }
        }
        other.info.sm_state = SmState::kStandby;
        queue(control(own_info(), SmInfoControl::kAcknowledge, subnet_.node(other.at.node).path,
                      other.at));
    }
    set_state(SmState::kMaster);
    full_wanted_ = true;
    registered_.clear();
}

void Manager::got_sm_info(const SmpAnswer& answer, std::uint64_t now_ns) {
    const auto info = wire::parse<SmInfo>(answer.data);
    if (info.guid == config_.port_guid) {
        return;
    }
    if (info.sm_key != config_.sm_key) {
        others_.erase(info.guid.value);
        return;
    }
    Other& other = others_[info.guid.value];
    other.info = info;
    other.at = {answer.purpose.node, answer.purpose.port};
    silences_ = 0;
    if (state_ != SmState::kMaster) {
        return;
    }
    if (other.offered && info.sm_state == SmState::kMaster) {
        // The heir has taken the subnet. Not every manager says so with an ACKNOWLEDGE.
        follow(other, now_ns);
    } else if (answer.purpose.index == static_cast<std::uint32_t>(SmInfoControl::kHandover)) {
        queue(ask_manager(other.at));
    } else if (answer.purpose.index == 0 && phase_ == Phase::kIdle) {
        elect(now_ns);  // The other manager came after our last sweep.
    }
}

/// Decides after discovery whether this manager becomes master or stands by for another one: for
/// the master with the best claim, else for the best of the managers that outrank it. If it is
/// master already, it chooses its heir.
void Manager::elect(std::uint64_t now_ns) {
    const Other* best = nullptr;
    const Other* master = nullptr;
    for (const auto& [guid, other] : others_) {
        if (!subnet_.node(other.at.node).present || other.info.sm_state == SmState::kNotActive) {
            continue;
        }
        if (other.info.sm_state == SmState::kMaster) {
            prefer(master, other);
        }
        if (outranks(other.info)) {
            prefer(best, other);
        }
    }
    if (state_ == SmState::kMaster) {
        heir_ = best != nullptr ? std::optional(best->info.guid) : std::nullopt;
        return;
    }
    const Other* const better = master != nullptr ? master : best;
    if (better == nullptr) {
        set_state(SmState::kMaster);
        registered_.clear();
        return;
    }
    follow(others_.at(better->info.guid.value), now_ns);
}

/// Becomes standby, and polls `master` from now on.
void Manager::follow(Other& master, std::uint64_t now_ns) {
    master.offered = false;
    master_guid_ = master.info.guid.value;
    silences_ = 0;
    set_state(SmState::kStandby);
    next_sweep_ns_ = now_ns + config_.poll_period_ns;
}

void Manager::poll_master(std::uint64_t now_ns) {
    const auto found = others_.find(master_guid_);
    if (silences_ != 0 || found == others_.end()) {
        // The master is gone or cannot be reached, so this manager discovers the subnet itself.
        silences_ = 0;
        others_.erase(master_guid_);
        start(now_ns);
        return;
    }
    queue(ask_manager(found->second.at));
    next_sweep_ns_ = now_ns + config_.poll_period_ns;
}

bool Manager::hand_over() {
    if (state_ != SmState::kMaster) {
        return false;
    }
    const Other* best = nullptr;
    for (const auto& [guid, other] : others_) {
        // A manager with a lesser claim would hand the subnet back at once.
        const bool keeps = other.info.priority > 0 || other.info.guid < config_.port_guid;
        if (keeps && other.info.sm_state != SmState::kNotActive &&
            subnet_.node(other.at.node).present) {
            prefer(best, other);
        }
    }
    if (best == nullptr) {
        return false;
    }
    config_.priority = 0;
    heir_ = best->info.guid;
    return true;
}

void Manager::hand_over_now(std::uint64_t now_ns) {
    const auto heir = heir_ ? others_.find(heir_->value) : others_.end();
    heir_due_ns_ = now_ns + kOfferPeriodNs;
    if (heir != others_.end() && state_ == SmState::kMaster) {
        const EndPort at = heir->second.at;
        heir->second.offered = true;
        queue(control(own_info(), SmInfoControl::kHandover, subnet_.node(at.node).path, at));
        advance(now_ns);
    }
}

}  // namespace softib::sm
