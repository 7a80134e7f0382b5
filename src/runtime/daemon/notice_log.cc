// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/notice_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace softib::daemon {

namespace {

std::int64_t wall_us() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

shm::request::NoticeKind kind_of(sm::ManagerEvent::Kind kind) {
    using enum shm::request::NoticeKind;
    switch (kind) {
        case sm::ManagerEvent::kSubnetUp:
            return kSweep;
        case sm::ManagerEvent::kPortAppeared:
            return kPortAppeared;
        case sm::ManagerEvent::kPortVanished:
            return kPortVanished;
        case sm::ManagerEvent::kTrap:
            return kTrap;
        case sm::ManagerEvent::kStateChanged:
            return kManagerState;
        case sm::ManagerEvent::kRoutingFailed:
            return kRoutingFailed;
        case sm::ManagerEvent::kSilent:
            return kSilentNode;
        case sm::ManagerEvent::kWarning:
            break;
    }
    return kWarning;
}

/// Returns the text of an event, made from its values if it has no text.
std::string text_of(const sm::ManagerEvent& event, const sm::Manager& manager) {
    const sm::Subnet& subnet = manager.subnet();
    const std::string node =
        event.node < subnet.size() ? subnet.node(event.node).description : std::string();
    switch (event.kind) {
        case sm::ManagerEvent::kSubnetUp:
            return fmt::format("a sweep is over: {} nodes, {} SMPs sent so far", subnet.size(),
                               manager.stats().smps_sent);
        case sm::ManagerEvent::kPortAppeared:
            return fmt::format("port {} of {} came", event.port, node);
        case sm::ManagerEvent::kPortVanished:
            return fmt::format("port {} is gone", to_string(event.guid));
        case sm::ManagerEvent::kTrap:
            return fmt::format("trap {} from LID {}", event.notice.trap_number,
                               event.notice.issuer_lid.value);
        case sm::ManagerEvent::kStateChanged:
            return fmt::format("the subnet manager is {} now", wire::name_of(manager.state()));
        case sm::ManagerEvent::kSilent:
            return fmt::format("{} does not answer", node);
        default:
            return event.text;
    }
}

}  // namespace

void NoticeLog::add(const sm::ManagerEvent& event, const sm::Manager& manager) {
    const sm::Subnet& subnet = manager.subnet();
    Guid guid = event.guid;
    if (guid == Guid{} && event.node < subnet.size() &&
        event.port < subnet.node(event.node).ports.size()) {
        guid = subnet.node(event.node).ports[event.port].guid;
    }
    entries_.push_back({{.kind = kind_of(event.kind),
                         .trap = event.notice.trap_number,
                         .lid = event.notice.issuer_lid,
                         .guid = guid,
                         .time_us = wall_us()},
                        text_of(event, manager).substr(0, shm::request::kNoticeTextMax)});
    if (entries_.size() > kKept) {
        entries_.pop_front();
        ++first_;
    }
}

shm::request::Notices::Reply NoticeLog::reply_from(std::uint64_t number) const {
    shm::request::Notices::Reply reply;
    const std::uint64_t end = first_ + entries_.size();
    // A number that an earlier daemon gave may be beyond the end.
    std::uint64_t next = number > end ? end : std::max(number, first_);
    while (next < end && reply.count < shm::request::kNoticesPerReply) {
        const Entry& entry = entries_[next - first_];
        shm::request::Notice& notice = reply.notices[reply.count++];
        notice = entry.notice;
        notice.text = entry.text;
        ++next;
    }
    reply.next = next;
    return reply;
}

}  // namespace softib::daemon
