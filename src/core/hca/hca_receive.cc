// SPDX-License-Identifier: BSD-2-Clause
// Finds the queue pair that a packet is for, and checks the packet's headers (IBA vol. 1, 9.6).
#include <algorithm>

#include "core/hca/hca.h"

namespace softib::hca {

bool Hca::is_for_us(const wire::PacketHeaders& headers) const {
    if (context_.port.link_layer == LinkLayer::kEthernet) {
        return headers.grh &&
               std::ranges::find(context_.port.gids, headers.grh->dgid) != context_.port.gids.end();
    }
    const unsigned own = context_.port.lid.value;
    const unsigned dlid = headers.lrh.dlid.value;
    return dlid >= own && dlid < own + (1U << context_.port.lmc);
}

/// Returns whether the addresses of a packet are right. A connection takes packets only from its
/// peer, on the agreed path (IBA vol. 1, 9.6).
bool Hca::address_matches(const QpCore& core, const wire::PacketHeaders& headers) {
    const std::optional<wire::Grh>& grh = headers.grh;
    if (core.init.type == QpType::kUd) {
        const bool good =
            !grh || is_multicast(headers.lrh.dlid) ||
            std::ranges::find(context_.port.gids, grh->dgid) != context_.port.gids.end();
        if (!good) {
            context_.count(Counted::kBadGrh);
        }
        return good;
    }
    const AddressVector& av = core.attr.av;
    if (context_.port.link_layer == LinkLayer::kInfiniBand && headers.lrh.slid != av.dlid) {
        context_.count(Counted::kBadLid);
        return false;
    }
    const bool good = av.global == grh.has_value() &&
                      (!grh || (grh->sgid == av.dgid && av.sgid_index < context_.port.gids.size() &&
                                grh->dgid == context_.port.gids[av.sgid_index]));
    if (!good) {
        context_.count(Counted::kBadGrh);
    }
    return good;
}

bool Hca::keys_match(const QpCore& core, const wire::PacketHeaders& headers, bool cnp) {
    if (!matches(headers.bth.p_key, context_.pkey(core.attr.pkey_index))) {
        context_.count(Counted::kBadPKey);
        return false;
    }
    if (core.init.type == QpType::kUd && !cnp && headers.deth.q_key.value != core.attr.qkey) {
        context_.count(Counted::kBadQKey);
        return false;
    }
    return true;
}

/// Handles FECN, by a BECN that will be sent, and BECN, by an entry for poll_becn().
void Hca::notice_congestion(QueuePair& qp, const wire::PacketHeaders& headers,
                            const wire::OpcodeInfo& info) {
    const QpCore& core = qp.core();
    const bool cnp = info.transport == wire::Transport::kCnp;
    if (headers.bth.becn || cnp) {
        context_.count(Counted::kBecn);
        const bool datagram = core.init.type == QpType::kUd;
        context_.becns.push({core.qpn, datagram ? headers.lrh.sl : core.attr.av.sl});
    }
    if (!headers.bth.fecn || cnp || is_multicast(headers.lrh.dlid)) {
        return;
    }
    const bool reliable =
        info.transport == wire::Transport::kRc || info.transport == wire::Transport::kXrc;
    if (reliable && headers.bth.a && !is_response(info.operation)) {
        qp.owe_becn();
        return;
    }
    context_.cnps.push({.qpn = core.qpn,
                        .dlid = headers.lrh.slid,
                        .dest_qp = headers.deth.src_qp,
                        .sl = headers.lrh.sl});
}

void Hca::deliver(QueuePair& qp, const wire::PacketHeaders& headers, const wire::OpcodeInfo& info,
                  const Payload& payload, std::uint64_t now_ns) {
    const QpCore& core = qp.core();
    if (core.state < QpState::kRtr || core.state == QpState::kErr) {
        context_.count(Counted::kWrongState);
        return;
    }
    const bool cnp = info.transport == wire::Transport::kCnp;
    if (info.transport != core.transport() && !cnp) {
        context_.count(Counted::kWrongService);
        return;
    }
    if (!keys_match(core, headers, cnp) || !address_matches(core, headers)) {
        return;
    }
    notice_congestion(qp, headers, info);
    if (!cnp) {
        qp.handle_packet(headers, info.operation, payload, now_ns);
        touch(core.qpn);
    }
}

void Hca::deliver_multicast(const wire::PacketHeaders& headers, const wire::OpcodeInfo& info,
                            const Payload& payload, std::uint64_t now_ns) {
    if (info.transport != wire::Transport::kUd || headers.bth.dest_qp != kQpnMulticast) {
        context_.count(Counted::kWrongService);
        return;
    }
    const auto is_hearer = [&](const Member& member) {
        return headers.grh ? member.group == headers.grh->dgid : member.lid == headers.lrh.dlid;
    };
    const bool ours =
        headers.lrh.slid.value >> context_.port.lmc == context_.port.lid.value >> context_.port.lmc;
    bool heard = false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const Qpn qpn = members_[i].qpn;
        // The queue pair that sent the packet gets none; one that is attached twice gets it once.
        const bool before_too =
            std::any_of(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const Member& other) { return other.qpn == qpn && is_hearer(other); });
        if (!is_hearer(members_[i]) || before_too || (ours && qpn == headers.deth.src_qp)) {
            continue;
        }
        if (QueuePair* qp = find(qpn)) {
            heard = true;
            deliver(*qp, headers, info, payload, now_ns);
        }
    }
    if (!heard) {
        context_.count(Counted::kNobodyListens);
    }
}

void Hca::handle_packet(const wire::PacketHeaders& headers, const Payload& payload,
                        std::uint64_t now_ns) {
    const auto info = wire::opcode_info(headers.bth.opcode);
    if (!info) {
        context_.count(Counted::kWrongService);
        return;
    }
    if (payload.length() != 0 && !info->has_payload) {
        context_.count(Counted::kBadLength);
        return;
    }
    if (is_multicast(headers.lrh.dlid)) {
        // A packet of this HCA that came back is dropped: poll_transmit() has copied it already.
        const bool ours = headers.lrh.slid.value >> context_.port.lmc ==
                          context_.port.lid.value >> context_.port.lmc;
        if (!ours) {
            deliver_multicast(headers, *info, payload, now_ns);
        }
        return;
    }
    if (!is_for_us(headers)) {
        context_.count(context_.port.link_layer == LinkLayer::kEthernet ? Counted::kBadGrh
                                                                        : Counted::kBadLid);
        return;
    }
    QueuePair* qp = find(headers.bth.dest_qp);
    if (qp == nullptr) {
        context_.count(Counted::kNoQp);
        return;
    }
    deliver(*qp, headers, *info, payload, now_ns);
}

}  // namespace softib::hca
