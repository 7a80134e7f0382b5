// SPDX-License-Identifier: BSD-2-Clause
#include "core/cm/sa_client.h"

#include <algorithm>

namespace softib::cm {

namespace {

constexpr std::uint64_t kRepeatNs = 1'000'000'000;
constexpr std::uint64_t kJoinTimeoutNs = 10 * kRepeatNs;

constexpr std::uint64_t kPathMask =
    wire::component(&wire::PathRecord::dgid) | wire::component(&wire::PathRecord::sgid) |
    wire::component(&wire::PathRecord::reversible) | wire::component(&wire::PathRecord::numb_path) |
    wire::component(&wire::PathRecord::pkey);

}  // namespace

template <wire::Attribute Record>
QueryId SaClient::ask(std::uint32_t port, wire::Method method, wire::SaAttribute attribute,
                      const Record& record, std::uint64_t mask, std::uint64_t timeout_ns,
                      std::uint64_t now_ns) {
    do {
        ++last_;
    } while (last_ == 0 || queries_.contains(last_));
    Query& query = queries_[last_];
    query.port = port;
    query.attribute = attribute;
    query.give_up_ns = now_ns + timeout_ns;
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kSubnAdm;
    header.class_version = wire::kSaClassVersion;
    header.method = method;
    header.transaction_id = last_;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.emit(wire::Mad<std::uint8_t>(query.mad));
    const wire::Sa<std::uint8_t> sa(query.mad);
    sa.set_header({.component_mask = mask});
    wire::emit(record, sa.data());
    send(last_, query, now_ns);
    return last_;
}

QueryId SaClient::ask_path(std::uint32_t port, const wire::PathRecord& wanted,
                           std::uint64_t timeout_ns, std::uint64_t now_ns) {
    return ask(port, wire::Method::kGet, wire::SaAttribute::kPathRecord, wanted, kPathMask,
               timeout_ns, now_ns);
}

QueryId SaClient::join(std::uint32_t port, const wire::McMemberRecord& member,
                       std::uint64_t now_ns) {
    namespace mc = wire::mc_member;
    std::uint64_t mask = mc::kPortGid | mc::kJoinState | mc::kPKey | mc::kQKey | mc::kSl |
                         mc::kFlowLabel | mc::kTClass;
    if (member.mgid != Gid{}) {
        mask |= mc::kMgid;
    }
    return ask(port, wire::Method::kSet, wire::SaAttribute::kMcMemberRecord, member, mask,
               kJoinTimeoutNs, now_ns);
}

QueryId SaClient::leave(std::uint32_t port, const wire::McMemberRecord& member,
                        std::uint64_t now_ns) {
    namespace mc = wire::mc_member;
    return ask(port, wire::Method::kDelete, wire::SaAttribute::kMcMemberRecord, member,
               mc::kMgid | mc::kPortGid | mc::kJoinState, kJoinTimeoutNs, now_ns);
}

void SaClient::send(QueryId id, const Query& query, std::uint64_t now_ns) {
    // The LID of the SA is read each time, since the SA may have moved.
    const LocalPort from = surroundings_.port(query.port);
    out_.push_back({query.port, to_services(query.mad, from.sm_lid, kPKeyDefaultFull, from.sm_sl)});
    deadlines_.set(id, std::min(query.give_up_ns, now_ns + kRepeatNs));
}

void SaClient::forget(QueryId query) {
    queries_.erase(query);
    deadlines_.clear(query);
    std::erase_if(answers_, [&](const SaAnswer& answer) { return answer.query == query; });
}

void SaClient::handle_mad(const mad::Packet& packet) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    if (header.mgmt_class() != wire::MgmtClass::kSubnAdm ||
        (static_cast<unsigned>(header.method()) & wire::kMethodResponseBit) == 0) {
        return;
    }
    const auto id = static_cast<QueryId>(header.transaction_id());
    const auto found = queries_.find(id);
    if (found == queries_.end() ||
        header.attribute_id() != static_cast<std::uint16_t>(found->second.attribute)) {
        return;  // The answer is too late, or not to this request.
    }
    SaAnswer answer{.query = id, .status = header.status()};
    const wire::Sa<const std::uint8_t> sa(packet.mad);
    if (found->second.attribute == wire::SaAttribute::kPathRecord) {
        answer.path = wire::parse<wire::PathRecord>(sa.data());
    } else {
        answer.member = wire::parse<wire::McMemberRecord>(sa.data());
    }
    queries_.erase(found);
    deadlines_.clear(id);
    answers_.push_back(answer);
}

void SaClient::handle_timeout(std::uint64_t now_ns) {
    while (const auto id = deadlines_.take(now_ns)) {
        const Query& query = queries_.at(*id);
        if (query.give_up_ns > now_ns) {
            send(*id, query, now_ns);
            continue;
        }
        queries_.erase(*id);
        answers_.push_back({.query = *id, .timed_out = true});
    }
}

std::optional<Outgoing> SaClient::poll_transmit() {
    if (out_.empty()) {
        return std::nullopt;
    }
    Outgoing out = std::move(out_.front());
    out_.pop_front();
    return out;
}

std::optional<SaAnswer> SaClient::poll_answer() {
    if (answers_.empty()) {
        return std::nullopt;
    }
    SaAnswer answer = answers_.front();
    answers_.pop_front();
    return answer;
}

}  // namespace softib::cm
