// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs and shared receive queues of endpoints, and the completion queues made for them.
#include <rdma/rdma_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::uint32_t kInlineBytesMin = 64;

void destroy_cqs(rdma_cm_id* id) {
    // The completion queues of an XRC endpoint belong to its shared receive queue.
    if (id->qp_type == IBV_QPT_XRC_RECV && id->srq != nullptr) {
        return;
    }
    if (id->recv_cq != nullptr) {
        ibv_destroy_cq(id->recv_cq);
    }
    if (id->send_cq != nullptr && id->send_cq != id->recv_cq) {
        ibv_destroy_cq(id->send_cq);
    }
    if (id->recv_cq_channel != nullptr) {
        ibv_destroy_comp_channel(id->recv_cq_channel);
    }
    if (id->send_cq_channel != nullptr && id->send_cq_channel != id->recv_cq_channel) {
        ibv_destroy_comp_channel(id->send_cq_channel);
    }
    id->recv_cq = nullptr;
    id->send_cq = nullptr;
    id->recv_cq_channel = nullptr;
    id->send_cq_channel = nullptr;
}

bool create_cq(rdma_cm_id* id, std::uint32_t entries, ibv_comp_channel*& channel, ibv_cq*& cq) {
    if (entries == 0) {
        return true;
    }
    channel = ibv_create_comp_channel(id->verbs);
    if (channel == nullptr) {
        return false;
    }
    cq = ibv_create_cq(id->verbs, static_cast<int>(entries), id, channel, 0);
    return cq != nullptr;
}

/// Creates the completion queues of an endpoint; none for a number of entries that is 0. Returns 0,
/// or -1 with errno set.
int create_cqs(rdma_cm_id* id, std::uint32_t send_entries, std::uint32_t recv_entries) {
    if (create_cq(id, recv_entries, id->recv_cq_channel, id->recv_cq) &&
        create_cq(id, send_entries, id->send_cq_channel, id->send_cq)) {
        return 0;
    }
    const int error = errno;
    destroy_cqs(id);
    return fail(error);
}

int query(const Endpoint& id, ibv_qp_attr& attr, int& mask) {
    cm::Command query = command_of(cm::Operation::kQpAttr, id.handle);
    query.value = attr.qp_state;
    cm::Reply reply;
    if (!execute(query, reply)) {
        return -1;
    }
    to_qp_attr(reply.attributes, attr);
    mask = static_cast<int>(reply.attributes.mask);
    return 0;
}

int modify(const Endpoint& id, ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    int mask = 0;
    return query(id, attr, mask) == 0 ? checked(ibv_modify_qp(qp, &attr, mask)) : -1;
}

/// Brings a new queue pair to INIT, in which receives can be posted; one for datagrams to RTS.
int bring_up(const Endpoint& id, ibv_qp* qp) {
    if (modify(id, qp, IBV_QPS_INIT) != 0) {
        return -1;
    }
    if (id.id.qp_type != IBV_QPT_UD) {
        return 0;
    }
    return modify(id, qp, IBV_QPS_RTR) == 0 ? modify(id, qp, IBV_QPS_RTS) : -1;
}

}  // namespace

int modify_to_rtr(Endpoint& id, std::uint8_t responder_resources) {
    if (id.id.qp == nullptr) {
        return 0;
    }
    // Access rights depend on the connection, which was not known when the queue pair was created.
    if (modify(id, id.id.qp, IBV_QPS_INIT) != 0) {
        return -1;
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    int mask = 0;
    if (query(id, attr, mask) != 0) {
        return -1;
    }
    if (responder_resources != RDMA_MAX_RESP_RES) {
        attr.max_dest_rd_atomic = responder_resources;
    }
    return checked(ibv_modify_qp(id.id.qp, &attr, mask));
}

int modify_to_rts(Endpoint& id, std::uint8_t initiator_depth) {
    if (id.id.qp == nullptr) {
        return 0;
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    int mask = 0;
    if (query(id, attr, mask) != 0) {
        return -1;
    }
    if (initiator_depth != RDMA_MAX_INIT_DEPTH) {
        attr.max_rd_atomic = initiator_depth;
    }
    return checked(ibv_modify_qp(id.id.qp, &attr, mask));
}

int modify_to_err(Endpoint& id) {
    if (id.id.qp == nullptr) {
        return 0;
    }
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    return checked(ibv_modify_qp(id.id.qp, &attr, IBV_QP_STATE));
}

}  // namespace softib::abi::rdmacm

using namespace softib;
using namespace softib::abi::rdmacm;

extern "C" {

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* qp_attr, int* qp_attr_mask) {
    return query(id_of(id), *qp_attr, *qp_attr_mask);
}

int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attr) {
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || id->verbs == nullptr) {
        return fail(EINVAL);
    }
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr->pd == nullptr) {
        attr->pd = id->pd;
        attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    }
    if (attr->srq_type == IBV_SRQT_XRC) {
        if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || attr->xrcd == nullptr) {
            attr->xrcd = xrcd_of(*id_of(id).device);
            if (attr->xrcd == nullptr) {
                return -1;
            }
        }
        if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || attr->cq == nullptr) {
            if (create_cqs(id, 0, attr->attr.max_wr) != 0) {
                return -1;
            }
            attr->cq = id->recv_cq;
        }
        attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    }
    ibv_srq* const srq = ibv_create_srq_ex(id->verbs, attr);
    if (srq == nullptr) {
        const int error = errno;
        destroy_cqs(id);
        return fail(error);
    }
    if (id->pd == nullptr) {
        id->pd = attr->pd;
    }
    id->srq = srq;
    return 0;
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
    ibv_srq_init_attr_ex extended{};
    extended.srq_context = attr->srq_context;
    extended.attr = attr->attr;
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    extended.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
    extended.pd = pd;
    const int result = rdma_create_srq_ex(id, &extended);
    attr->attr = extended.attr;
    return result;
}

void rdma_destroy_srq(rdma_cm_id* id) {
    ibv_destroy_srq(id->srq);
    id->srq = nullptr;
    destroy_cqs(id);
}

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attr) {
    if (id->qp != nullptr || id->verbs == nullptr) {
        return fail(EINVAL);
    }
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == nullptr) {
        attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
        attr->pd = id->pd;
    } else if (attr->pd->context != id->verbs) {
        return fail(EINVAL);
    }
    if ((id->recv_cq != nullptr && attr->recv_cq != nullptr && id->recv_cq != attr->recv_cq) ||
        (id->send_cq != nullptr && attr->send_cq != nullptr && id->send_cq != attr->send_cq)) {
        return fail(EINVAL);
    }
    if (id->qp_type == IBV_QPT_XRC_RECV &&
        ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || attr->xrcd == nullptr)) {
        attr->xrcd = xrcd_of(*id_of(id).device);
        if (attr->xrcd == nullptr) {
            return -1;
        }
        attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
    }
    const bool has_send_cq = attr->send_cq != nullptr || id->send_cq != nullptr;
    const bool has_recv_cq = attr->recv_cq != nullptr || id->recv_cq != nullptr;
    if (create_cqs(id, has_send_cq ? 0 : attr->cap.max_send_wr,
                   has_recv_cq ? 0 : attr->cap.max_recv_wr) != 0) {
        return -1;
    }
    if (attr->send_cq == nullptr) {
        attr->send_cq = id->send_cq;
    }
    if (attr->recv_cq == nullptr) {
        attr->recv_cq = id->recv_cq;
    }
    if (attr->srq == nullptr) {
        attr->srq = id->srq;
    }
    // Real devices allow some inline data even if a program asks for none, and programs that use
    // rdma_cm rely on that.
    attr->cap.max_inline_data = std::max(attr->cap.max_inline_data, kInlineBytesMin);
    id_of(id).local_ece = {};  // The options of the queue pair count, and it has none.
    ibv_qp* const qp = ibv_create_qp_ex(id->verbs, attr);
    if (qp == nullptr || bring_up(id_of(id), qp) != 0) {
        const int error = errno;
        if (qp != nullptr) {
            ibv_destroy_qp(qp);
        }
        destroy_cqs(id);
        return fail(error);
    }
    // An XRC target queue pair has no protection domain.
    id->pd = qp->pd != nullptr ? qp->pd : id->pd;
    id->qp = qp;
    return 0;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
    ibv_qp_init_attr_ex extended{};
    static_assert(offsetof(ibv_qp_init_attr_ex, comp_mask) <= sizeof *qp_init_attr);
    std::memcpy(&extended, qp_init_attr, sizeof *qp_init_attr);
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd != nullptr ? pd : id->pd;
    const int result = rdma_create_qp_ex(id, &extended);
    std::memcpy(qp_init_attr, &extended, offsetof(ibv_qp_init_attr, sq_sig_all) + sizeof(int));
    return result;
}

void rdma_destroy_qp(rdma_cm_id* id) {
    ibv_destroy_qp(id->qp);
    id->qp = nullptr;
    destroy_cqs(id);
}

}  // extern "C"
