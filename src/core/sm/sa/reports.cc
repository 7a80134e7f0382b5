// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/reports.h"

namespace softib::sm {

void SaReports::send(const SaSubscriptions::Subscription& to, const wire::GmpNotice& notice,
                     std::uint64_t now_ns) {
    const auto used = per_port_.find(to.port.value);
    if (reports_.size() >= limits_.reports_max ||
        (used != per_port_.end() && used->second >= limits_.per_port_max)) {
        ++lost_;
        return;
    }
    const std::uint64_t id = ++transactions_;
    const Report report{.port = to.port,
                        .qp = to.qp,
                        .notice = notice,
                        .deadline_ns = now_ns + limits_.timeout_ns,
                        .retries_left = limits_.retries};
    deadlines_.emplace(report.deadline_ns, id);
    reports_.emplace(id, report);
    ++per_port_[to.port.value];
    ready_.push_back(id);
}

void SaReports::handle_response(Guid port, std::uint64_t transaction_id) {
    const auto at = reports_.find(transaction_id);
    if (at != reports_.end() && at->second.port == port) {
        remove(at);
    }
}

void SaReports::handle_timeout(std::uint64_t now_ns) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
        const auto at = reports_.find(deadlines_.begin()->second);
        Report& report = at->second;
        if (report.retries_left == 0) {
            ++lost_;
            remove(at);
            continue;
        }
        --report.retries_left;
        deadlines_.erase(deadlines_.begin());
        report.deadline_ns = now_ns + limits_.timeout_ns;
        deadlines_.emplace(report.deadline_ns, at->first);
        ready_.push_back(at->first);
    }
}

std::uint64_t SaReports::next_timeout_ns() const {
    return deadlines_.empty() ? UINT64_MAX : deadlines_.begin()->first;
}

void SaReports::remove_port(Guid port) {
    for (auto at = reports_.begin(); at != reports_.end();) {
        const auto report = at++;
        if (report->second.port == port) {
            remove(report);
        }
    }
}

std::optional<SaOutgoing> SaReports::poll(const Subnet& subnet) {
    while (!ready_.empty()) {
        const auto at = reports_.find(ready_.front());
        ready_.pop_front();
        if (at == reports_.end()) {
            continue;
        }
        const std::optional<EndPort> port = subnet.by_port_guid(at->second.port);
        if (!port) {
            continue;  // The port is gone, but may come back before the last retry.
        }
        wire::MadBytes mad{};
        wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                      .class_version = wire::kSaClassVersion,
                      .method = wire::Method::kReport,
                      .transaction_id = at->first,
                      .attribute_id = static_cast<std::uint16_t>(wire::SaAttribute::kNotice)}
            .emit(wire::Mad<std::uint8_t>(mad));
        wire::emit(at->second.notice, wire::Sa<std::uint8_t>(mad).data());
        return SaOutgoing{{.lid = base_lid(subnet, *port), .qp = at->second.qp},
                          {mad.begin(), mad.end()}};
    }
    return std::nullopt;
}

void SaReports::remove(Reports::iterator at) {
    deadlines_.erase({at->second.deadline_ns, at->first});
    const auto used = per_port_.find(at->second.port.value);
    if (--used->second == 0) {
        per_port_.erase(used);
    }
    reports_.erase(at);
}

}  // namespace softib::sm
