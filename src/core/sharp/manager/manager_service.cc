// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/manager_service.h"

#include <algorithm>
#include <utility>

#include "core/wire/sa/sa.h"

namespace softib::sharp {

namespace {

constexpr std::size_t kRepliesMax = 64;

}  // namespace

void ManagerService::note_change(std::uint64_t now_ns) {
    due_ns_ = std::min(due_ns_, now_ns);
    settles_ = true;
    changed_ = reader_.reading();
}

void ManagerService::freshen(std::uint64_t now_ns) {
    if (due_ns_ <= now_ns || !trouble_.empty()) {
        read(now_ns);
    }
}

void ManagerService::read(std::uint64_t now_ns) {
    if (reader_.reading()) {
        return;
    }
    changed_ = false;
    due_ns_ = now_ns + timing_.period_ns;
    manager_.await_routes();
    reader_.start(sa_);
    take_result(now_ns);
}

void ManagerService::take_result(std::uint64_t now_ns) {
    auto result = reader_.poll_result();
    if (!result) {
        return;
    }
    if (changed_) {  // A change during the reading: the records may be half old and half new.
        read(now_ns);
        return;
    }
    if (*result) {
        trouble_.clear();
        ++readings_;
        manager_.set_routes(std::move((*result)->graph), std::move((*result)->lfts));
    } else {
        trouble_ = std::move(result->error());
        due_ns_ = std::min(due_ns_, now_ns + timing_.settle_ns);
        manager_.lack_routes(trouble_);
    }
    if (std::exchange(settles_, false)) {
        due_ns_ = std::min(due_ns_, now_ns + timing_.settle_ns);
    }
}

void ManagerService::handle(const mad::RmppPeer& from, std::span<const std::uint8_t> message,
                            std::uint64_t now_ns) {
    wire::MadBytes first{};
    std::copy_n(message.begin(), std::min(message.size(), first.size()), first.begin());
    const wire::Mad<const std::uint8_t> header(first);
    if (header.mgmt_class() == wire::MgmtClass::kSharp) {
        mad::Packet packet;
        packet.mad = first;
        packet.slid = from.lid;
        packet.source = from.qp;
        manager_.handle(packet);
    } else if (header.mgmt_class() == wire::MgmtClass::kSubnAdm) {
        if (header.method() == wire::Method::kReport) {
            answer_report(from, first);
            note_change(now_ns);
        } else {
            reader_.handle(message);
            take_result(now_ns);
        }
    }
}

void ManagerService::answer_report(const mad::RmppPeer& from, const wire::MadBytes& report) {
    if (replies_.size() >= kRepliesMax) {
        return;  // The SA will send the report again.
    }
    mad::Packet reply = mad::to_packet({from, report});
    wire::Mad<std::uint8_t>(reply.mad).set_method(wire::Method::kReportResp);
    replies_.push_back(reply);
}

void ManagerService::handle_timeout(std::uint64_t now_ns) {
    reader_.handle_timeout(now_ns);
    take_result(now_ns);
    if (manager_.next_timeout_ns() <= now_ns) {
        manager_.handle_timeout(now_ns);
    }
    if (due_ns_ <= now_ns && !manager_.jobs().empty()) {
        read(now_ns);
    }
}

std::uint64_t ManagerService::next_timeout_ns() const {
    const std::uint64_t next = std::min(manager_.next_timeout_ns(), reader_.next_timeout_ns());
    return manager_.jobs().empty() || reader_.reading() ? next : std::min(next, due_ns_);
}

std::optional<mad::Packet> ManagerService::poll_transmit(std::uint64_t now_ns) {
    if (!replies_.empty()) {
        const mad::Packet reply = replies_.front();
        replies_.pop_front();
        return reply;
    }
    if (auto packet = reader_.poll_transmit(now_ns)) {
        return packet;
    }
    return manager_.poll_transmit(now_ns);
}

}  // namespace softib::sharp
