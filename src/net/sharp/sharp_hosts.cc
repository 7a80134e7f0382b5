// SPDX-License-Identifier: BSD-2-Clause
#include "net/sharp/sharp_hosts.h"

#include <algorithm>

namespace softib::net {

namespace {

constexpr std::uint32_t kMemberSends = 64;

}  // namespace

SharpHosts::Member::Member(const MemberInit& init)
    : hca(memory, init.at, {.qps = 1, .cqs = 1, .srqs = 1, .events = 16, .group_members = 1}),
      cq(*hca.create_cq(4 * kMemberSends)),
      port(hca, {.cq = cq, .sends = kMemberSends}),
      member(init.tree, init.group, init.rule),
      qpn(init.context.qpn) {}

SharpHosts::End& SharpHosts::end(std::uint32_t port) {
    ends_.resize(std::max<std::size_t>(ends_.size(), port + std::size_t{1}));
    return ends_[port];
}

void SharpHosts::add_node(std::uint32_t port, sharp::AggregationTables& tables,
                          const hca::Port& at) {
    End& made = end(port);
    made.node = std::make_unique<AggregationHost>(tables);
    made.node->hca().set_port(at);
    hosts_.attach(port, made.node->hca());
}

bool SharpHosts::add_member(std::uint32_t port, const MemberInit& init) {
    End& made = end(port);
    made.member = std::make_unique<Member>(init);
    hosts_.attach(port, made.member->hca);
    return made.member->port.open(init.context);
}

void SharpHosts::follow_tables() {
    for (const End& each : ends_) {
        if (each.node) {
            each.node->follow_tables();
        }
    }
}

void SharpHosts::begin(std::uint32_t port, TimePs at, const sharp::TreeMember::Task& task) {
    ends_[port].member->member.begin(task);
    net_->set_timer(port, at, kSharpTimer);
}

void SharpHosts::send_from(Member& member) {
    while (auto bytes = member.member.poll_transmit()) {
        member.port.send(member.qpn, std::move(*bytes));
    }
}

void SharpHosts::receive(Member& member) {
    while (const auto completion = member.hca.poll_completion(member.cq)) {
        if (const auto arrived = member.port.take(*completion)) {
            member.member.handle_packet(arrived->bytes);
        }
    }
    while (member.member.poll_done()) {
        ++done_;
        last_done_ = net_->now();
    }
    failed_ |= member.port.has_failed(member.qpn) || member.member.error() != sharp::Error::kNone;
    send_from(member);
}

void SharpHosts::after_packet(std::uint32_t port, const wire::PacketHeaders&) {
    End& at = ends_[port];
    if (at.member) {
        receive(*at.member);
        return;
    }
    if (const std::size_t packets = at.node->receive(); packets != 0) {
        at.due.emplace_back(net_->now() + node_ps_, packets);
        net_->set_timer(port, net_->now() + node_ps_, kSharpTimer);
    }
    failed_ |= !at.node->take_lost().empty();
}

void SharpHosts::timer(Engine& net, std::uint32_t port, std::uint32_t what) {
    if (what != kSharpTimer) {
        hosts_.timer(net, port, what);
        return;
    }
    End& at = ends_[port];
    if (at.member) {
        send_from(*at.member);
    }
    while (!at.due.empty() && at.due.front().first <= net.now()) {
        at.node->transmit(at.due.front().second);
        at.due.pop_front();
    }
    hosts_.pump(net, port);
}

}  // namespace softib::net
