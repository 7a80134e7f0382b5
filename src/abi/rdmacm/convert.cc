// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rdmacm/convert.h"

#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <cstring>

#include "core/wire/format/layout.h"
#include "core/wire/sa/path_record.h"

namespace softib::abi::rdmacm {

namespace {

ibv_gid to_gid(const Gid& gid) {
    ibv_gid out;
    std::memcpy(out.raw, gid.bytes.data(), sizeof out.raw);
    return out;
}

}  // namespace

socklen_t address_bytes(const sockaddr* address) {
    if (address == nullptr) {
        return 0;
    }
    switch (address->sa_family) {
        case AF_INET:
            return sizeof(sockaddr_in);
        case AF_INET6:
            return sizeof(sockaddr_in6);
        case AF_IB:
            return sizeof(sockaddr_ib);
        default:
            return 0;
    }
}

cm::Address from_sockaddr(const sockaddr* address) {
    cm::Address out;
    if (address == nullptr) {
        return out;
    }
    if (address->sa_family == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, address, sizeof in);
        out.family = cm::Family::kIp4;
        out.port = be16toh(in.sin_port);
        std::memcpy(out.bytes.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, address, sizeof in);
        out.family = cm::Family::kIp6;
        out.port = be16toh(in.sin6_port);
        out.scope = in.sin6_scope_id;
        out.flow = be32toh(in.sin6_flowinfo);
        std::memcpy(out.bytes.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
    } else if (address->sa_family == AF_IB) {
        sockaddr_ib ib;
        std::memcpy(&ib, address, sizeof ib);
        out.family = cm::Family::kIb;
        out.pkey = PKey{be16toh(ib.sib_pkey)};
        out.flow = be32toh(ib.sib_flowinfo);
        out.scope = static_cast<std::uint32_t>(ib.sib_scope_id);
        out.service_id = be64toh(ib.sib_sid);
        out.service_mask = be64toh(ib.sib_sid_mask);
        std::memcpy(out.bytes.bytes.data(), &ib.sib_addr, sizeof ib.sib_addr);
    }
    return out;
}

void to_sockaddr(const cm::Address& address, sockaddr_storage& out) {
    std::memset(&out, 0, sizeof out);
    if (address.family == cm::Family::kIp4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htobe16(address.port);
        std::memcpy(&in.sin_addr, address.bytes.bytes.data(), sizeof in.sin_addr);
        std::memcpy(&out, &in, sizeof in);
    } else if (address.family == cm::Family::kIp6) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htobe16(address.port);
        in.sin6_scope_id = address.scope;
        in.sin6_flowinfo = htobe32(address.flow);
        std::memcpy(&in.sin6_addr, address.bytes.bytes.data(), sizeof in.sin6_addr);
        std::memcpy(&out, &in, sizeof in);
    } else if (address.family == cm::Family::kIb) {
        sockaddr_ib ib{};
        ib.sib_family = AF_IB;
        ib.sib_pkey = htobe16(address.pkey.value);
        ib.sib_flowinfo = htobe32(address.flow);
        ib.sib_scope_id = address.scope;
        ib.sib_sid = htobe64(address.service_id);
        ib.sib_sid_mask = htobe64(address.service_mask);
        std::memcpy(&ib.sib_addr, address.bytes.bytes.data(), sizeof ib.sib_addr);
        std::memcpy(&out, &ib, sizeof ib);
    }
}

ibv_ah_attr to_ah_attr(const cm::Destination& destination) {
    ibv_ah_attr out{};
    out.dlid = destination.dlid.value;
    out.sl = destination.sl;
    out.src_path_bits = destination.path_bits;
    out.static_rate = destination.static_rate;
    out.is_global = destination.is_global;
    out.port_num = destination.port_num;
    out.grh.dgid = to_gid(destination.dgid);
    out.grh.flow_label = destination.flow_label;
    out.grh.hop_limit = destination.hop_limit;
    out.grh.traffic_class = destination.traffic_class;
    return out;
}

void to_path_rec(const cm::IdInfo& info, ibv_sa_path_rec& out) {
    const auto path = wire::parse<wire::PathRecord>(info.path);
    std::memset(&out, 0, sizeof out);
    out.dgid = to_gid(path.dgid);
    out.sgid = to_gid(path.sgid);
    out.dlid = htobe16(path.dlid.value);
    out.slid = htobe16(path.slid.value);
    out.raw_traffic = path.raw_traffic ? 1 : 0;
    out.flow_label = htobe32(path.flow_label);
    out.hop_limit = path.hop_limit;
    out.traffic_class = path.tclass;
    out.reversible = path.reversible ? 1 : 0;
    out.numb_path = path.numb_path;
    out.pkey = htobe16(path.pkey.value);
    out.sl = path.sl;
    out.mtu_selector = 2;  // Exactly this MTU.
    out.mtu = path.mtu;
    out.rate_selector = 2;
    out.rate = path.rate;
    out.packet_life_time_selector = 2;
    out.packet_life_time = path.packet_life_time;
    out.preference = path.preference;
}

void to_qp_attr(const cm::QpAttributes& attributes, ibv_qp_attr& out) {
    const ibv_qp_state state = out.qp_state;
    std::memset(&out, 0, sizeof out);
    out.qp_state = state;
    out.cur_qp_state = state;
    out.path_mtu = static_cast<ibv_mtu>(attributes.path_mtu);
    out.qkey = attributes.qkey.value;
    out.rq_psn = attributes.rq_psn.value;
    out.sq_psn = attributes.sq_psn.value;
    out.dest_qp_num = attributes.dest_qpn.value;
    out.qp_access_flags = attributes.access_flags;
    out.ah_attr = to_ah_attr(attributes.destination);
    out.pkey_index = attributes.pkey_index;
    out.max_rd_atomic = attributes.max_rd_atomic;
    out.max_dest_rd_atomic = attributes.max_dest_rd_atomic;
    out.min_rnr_timer = attributes.min_rnr_timer;
    out.port_num = attributes.port_num;
    out.timeout = attributes.timeout;
    out.retry_cnt = attributes.retry_count;
    out.rnr_retry = attributes.rnr_retry;
}

}  // namespace softib::abi::rdmacm
