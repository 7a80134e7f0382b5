// SPDX-License-Identifier: BSD-2-Clause
// Address handles and multicast membership.
#include "abi/verbs/ah.h"

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "abi/verbs/entry.h"
#include "abi/verbs/objects.h"

namespace softib::abi {

hca::AddressVector to_runtime(const ibv_ah_attr& attr) {
    hca::AddressVector av;
    av.dlid = Lid{attr.dlid};
    av.sl = attr.sl;
    av.path_bits = attr.src_path_bits;
    av.global = attr.is_global != 0;
    av.hop_limit = attr.grh.hop_limit;
    av.traffic_class = attr.grh.traffic_class;
    av.sgid_index = attr.grh.sgid_index;
    av.flow_label = attr.grh.flow_label;
    std::memcpy(av.dgid.bytes.data(), attr.grh.dgid.raw, sizeof av.dgid);
    return av;
}

ibv_ah_attr from_runtime(const hca::AddressVector& av, std::uint8_t port,
                         std::uint8_t static_rate) {
    ibv_ah_attr attr{};
    attr.dlid = av.dlid.value;
    attr.sl = av.sl;
    attr.src_path_bits = av.path_bits;
    attr.is_global = av.global ? 1 : 0;
    attr.grh.hop_limit = av.hop_limit;
    attr.grh.traffic_class = av.traffic_class;
    attr.grh.sgid_index = av.sgid_index;
    attr.grh.flow_label = av.flow_label;
    std::memcpy(attr.grh.dgid.raw, av.dgid.bytes.data(), sizeof av.dgid);
    attr.port_num = port;
    attr.static_rate = static_rate;
    return attr;
}

namespace {

/// Returns the route of a datagram that was received over Ethernet, as a GRH. An IPv6 header has
/// the layout of a GRH; an IPv4 header is in the last 20 of the 40 bytes.
ibv_grh roce_route(const ibv_grh& received) {
    constexpr std::size_t kIpv4At = 20;
    std::array<std::uint8_t, sizeof received> bytes;
    std::memcpy(bytes.data(), &received, sizeof received);
    if (bytes[0] >> 4 == 6 || bytes[kIpv4At] >> 4 != 4) {
        return received;
    }
    const std::uint8_t* const ip = &bytes[kIpv4At];
    ibv_grh route{};
    route.version_tclass_flow = htonl(6U << 28 | std::uint32_t{ip[1]} << 20);
    route.hop_limit = ip[8];
    route.sgid.raw[10] = route.sgid.raw[11] = route.dgid.raw[10] = route.dgid.raw[11] = 0xFF;
    std::memcpy(&route.sgid.raw[12], ip + 12, 4);
    std::memcpy(&route.dgid.raw[12], ip + 16, 4);
    return route;
}

/// Attaches or detaches a queue pair, as `Request` says.
template <typename Request>
int multicast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
    if (qp->qp_type != IBV_QPT_UD || gid->raw[0] != 0xFF || !is_multicast(Lid{lid})) {
        return EINVAL;
    }
    Request request{.qpn = Qpn{qp->qp_num}, .mlid = Lid{lid}};
    std::memcpy(request.mgid.bytes.data(), gid->raw, sizeof gid->raw);
    return impl(qp->context).process->self.call(request);
}

}  // namespace

}  // namespace softib::abi

using namespace softib;
using namespace softib::abi;

extern "C" {

ibv_ah* softib_ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) noexcept {
    if (attr->port_num != 1 || attr->sl > 15 ||
        (attr->is_global == 0 && is_ethernet(pd->context)) ||
        (attr->is_global != 0 && attr->grh.sgid_index >= shm::kGidsPerPort)) {
        return fail<ibv_ah>(EINVAL);
    }
    auto* ah = new (std::nothrow) Ah{};
    const Context& c = impl(pd->context);
    if (ah == nullptr || !ah->share.take(*c.process, c.hca, shm::ObjectKind::kAh)) {
        delete ah;
        return fail<ibv_ah>(ENOMEM);
    }
    ah->base.context = pd->context;
    ah->base.pd = pd;
    ah->runtime.to = to_runtime(*attr);
    impl(pd).uses.add();
    return &ah->base;
}

int softib_ibv_destroy_ah(ibv_ah* base) noexcept {
    impl(base->pd).uses.drop();
    delete &impl(base);
    return 0;
}

int softib_ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                               ibv_ah_attr* attr) noexcept {
    std::memset(attr, 0, sizeof *attr);
    attr->dlid = wc->slid;
    attr->sl = wc->sl;
    attr->src_path_bits = wc->dlid_path_bits;
    attr->port_num = port;
    if ((wc->wc_flags & IBV_WC_GRH) == 0) {
        return 0;
    }
    attr->is_global = 1;
    const ibv_grh route = is_ethernet(context) ? roce_route(*grh) : *grh;
    attr->grh.dgid = route.sgid;
    const std::uint32_t word = ntohl(route.version_tclass_flow);
    attr->grh.flow_label = word & 0xFFFFF;
    attr->grh.traffic_class = static_cast<std::uint8_t>(word >> 20);
    attr->grh.hop_limit = route.hop_limit;
    for (int i = 0; i < static_cast<int>(shm::kGidsPerPort); ++i) {
        ibv_gid gid;
        if (softib_ibv_query_gid(context, port, i, &gid) == 0 &&
            std::memcmp(&gid, &route.dgid, sizeof gid) == 0) {
            attr->grh.sgid_index = static_cast<std::uint8_t>(i);
            return 0;
        }
    }
    if (route.dgid.raw[0] == 0xFF) {
        return 0;  // The datagram was sent to a group: the answer has the port's own address.
    }
    errno = ENOENT;
    return -1;
}

ibv_ah* softib_ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh,
                                     std::uint8_t port) noexcept {
    ibv_ah_attr attr;
    if (softib_ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) {
        return nullptr;
    }
    return softib_ibv_create_ah(pd, &attr);
}

int softib_ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) noexcept {
    const int error = multicast<shm::request::McastAttach>(qp, gid, lid);
    if (error == 0) {
        ++impl(qp).attached_groups;
    }
    return answer(error);
}

int softib_ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) noexcept {
    const int error = multicast<shm::request::McastDetach>(qp, gid, lid);
    if (error == 0) {
        --impl(qp).attached_groups;
    }
    return answer(error);
}

}  // extern "C"
