// SPDX-License-Identifier: BSD-2-Clause
// Several managers on one subnet: the one of highest priority, then of lowest GUID, is master, the
// others stand by and watch it (IBA vol. 1, 14.4). A manager with another SM_Key does not count.
#include <algorithm>

#include "core/sm/manager.h"

namespace softib::sm {

namespace {

using wire::SmAttribute;
using wire::SmInfo;
using wire::SmInfoControl;
using wire::SmState;

constexpr std::uint64_t kOfferPeriodNs = 500'000'000;

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

/// Whether the other one has the better claim.
bool Manager::outranks(const SmInfo& other) const {
    return other.priority != config_.priority ? other.priority > config_.priority
                                              : other.guid < config_.port_guid;
}

/// A manager that does not answer soon is as good as none: others wait for what we find.
SmpRequest Manager::ask_manager(EndPort at) const {
    SmpRequest request = get(Purpose::kSmInfo, SmAttribute::kSmInfo, subnet_.node(at.node).path,
                             at.node, at.port, 0);
    request.retries = 1;
    return request;
}

void Manager::handle_sm_info(const wire::MadBytes& mad, Lid slid, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> request(mad);
    const bool directed = request.mgmt_class() == wire::MgmtClass::kSubnDirectedRoute;
    const wire::Smp<const std::uint8_t> smp(mad);
    const auto theirs = wire::parse<SmInfo>(smp.data());
    Transmit reply{mad, directed ? kLidPermissive : slid};
    const wire::Mad<std::uint8_t> header(reply.mad);
    const wire::Smp<std::uint8_t> out(reply.mad);
    std::uint16_t status = wire::mad_status::kOk;
    const bool is_set = request.method() == wire::Method::kSet;
    const auto what = static_cast<SmInfoControl>(request.attribute_modifier());
    const bool trusted = theirs.sm_key == config_.sm_key;
    bool take_over = false;
    if (is_set && !trusted) {
        return;  // Not one of ours: it learns nothing and moves nothing.
    }
    if (is_set) {
        switch (what) {
            case SmInfoControl::kHandover:
                take_over = state_ != SmState::kNotActive;
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
                status = wire::mad_status::kInvalidField;
        }
    }
    header.set_method(wire::Method::kGetResp);
    out.set_status(status);
    out.set_direction(directed);
    std::ranges::fill(out.data(), std::uint8_t{0});
    // A Get carries no key that could show trust; managers in the field answer with theirs.
    wire::emit(own_info(), out.data());
    replies_.push_back(std::move(reply));
    if (take_over) {
        const auto found = others_.find(theirs.guid.value);
        if (found != others_.end()) {
            if (found->second.info.sm_state == SmState::kMaster) {
                // The other master may have overwritten what we wrote.
                topology_changed_ = true;
                for (NodeIndex i = 0; i < subnet_.size(); ++i) {
                    subnet_.node(i).tables_known = false;
                }
            }
            found->second.info.sm_state = SmState::kStandby;
            const EndPort at = found->second.at;
            queue(control(own_info(), SmInfoControl::kAcknowledge, subnet_.node(at.node).path, at));
        }
        set_state(SmState::kMaster);
        full_wanted_ = true;
        registered_.clear();
    }
    advance(now_ns);
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
        // It has taken what it was offered. Not everybody says so by an acknowledgement.
        follow(other, now_ns);
    } else if (answer.purpose.index == static_cast<std::uint32_t>(SmInfoControl::kHandover)) {
        queue(ask_manager(other.at));
    } else if (answer.purpose.index == 0 && phase_ == Phase::kIdle) {
        elect(now_ns);  // It came after our last sweep.
    }
}

/// After discovery: master, or in whose shadow.
void Manager::elect(std::uint64_t now_ns) {
    const Other* best = nullptr;
    const Other* master = nullptr;
    for (const auto& [guid, other] : others_) {
        if (!subnet_.node(other.at.node).present || other.info.sm_state == SmState::kNotActive) {
            continue;
        }
        if (other.info.sm_state == SmState::kMaster) {
            master = &other;
        }
        if (outranks(other.info) &&
            (best == nullptr || other.info.priority > best->info.priority ||
             (other.info.priority == best->info.priority && other.info.guid < best->info.guid))) {
            best = &other;
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

/// In its shadow from now on.
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
        // Gone, or out of reach: see for ourselves.
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
    for (const auto& [guid, other] : others_) {
        // One with a lesser claim would hand the subnet back at once.
        const bool keeps = other.info.priority > 0 || other.info.guid < config_.port_guid;
        if (keeps && other.info.sm_state != SmState::kNotActive &&
            subnet_.node(other.at.node).present) {
            config_.priority = 0;
            heir_ = Guid{guid};
            return true;
        }
    }
    return false;
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
