// SPDX-License-Identifier: BSD-2-Clause
// Endpoints made in one call (rdma_create_ep) from a result of rdma_getaddrinfo, and connection
// requests to them.
#include <infiniband/sa.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/rdmacm/id.h"

namespace softib::abi::rdmacm {

namespace {

constexpr int kEndpointTimeoutMs = 2000;

int passive_endpoint(Endpoint& id, const rdma_addrinfo* res, ibv_pd* pd,
                     const ibv_qp_init_attr* qp_init_attr) {
    if (rdma_bind_addr(&id.id, res->ai_src_addr) != 0) {
        return -1;
    }
    if (pd != nullptr) {
        id.id.pd = pd;
    }
    if (qp_init_attr == nullptr) {
        return 0;
    }
    // Each connection request gets a queue pair with these attributes.
    id.request_attr = static_cast<ibv_qp_init_attr*>(std::malloc(sizeof *qp_init_attr));
    if (id.request_attr == nullptr) {
        return fail(ENOMEM);
    }
    *id.request_attr = *qp_init_attr;
    id.request_attr->qp_type = static_cast<ibv_qp_type>(res->ai_qp_type);
    return 0;
}

int active_endpoint(Endpoint& id, const rdma_addrinfo* res, ibv_pd* pd,
                    ibv_qp_init_attr* qp_init_attr) {
    if (rdma_resolve_addr(&id.id, res->ai_src_addr, res->ai_dst_addr, kEndpointTimeoutMs) != 0) {
        return -1;
    }
    if (res->ai_route_len != 0) {
        if (rdma_set_option(&id.id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
                            res->ai_route_len) != 0 ||
            complete(id) != 0) {
            return -1;
        }
    } else if (rdma_resolve_route(&id.id, kEndpointTimeoutMs) != 0) {
        return -1;
    }
    if (qp_init_attr != nullptr) {
        qp_init_attr->qp_type = static_cast<ibv_qp_type>(res->ai_qp_type);
        if (rdma_create_qp(&id.id, pd, qp_init_attr) != 0) {
            return -1;
        }
    }
    if (res->ai_connect_len != 0) {
        id.connect_data = std::malloc(res->ai_connect_len);
        if (id.connect_data == nullptr) {
            return fail(ENOMEM);
        }
        std::memcpy(id.connect_data, res->ai_connect, res->ai_connect_len);
        id.connect_bytes = static_cast<std::uint8_t>(res->ai_connect_len);
    }
    return 0;
}

}  // namespace

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

extern "C" {

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* res, ibv_pd* pd,
                   ibv_qp_init_attr* qp_init_attr) {
    Endpoint* const made =
        make_id(nullptr, nullptr, static_cast<rdma_port_space>(res->ai_port_space),
                static_cast<ibv_qp_type>(res->ai_qp_type), 0);
    if (made == nullptr) {
        return -1;
    }
    const int result = (res->ai_flags & RAI_PASSIVE) != 0
                           ? passive_endpoint(*made, res, pd, qp_init_attr)
                           : active_endpoint(*made, res, pd, qp_init_attr);
    if (result != 0) {
        const int error = errno;
        rdma_destroy_ep(&made->id);
        return fail(error);
    }
    *id = &made->id;
    return 0;
}

void rdma_destroy_ep(rdma_cm_id* id) {
    if (id->qp != nullptr) {
        rdma_destroy_qp(id);
    }
    if (id->srq != nullptr) {
        rdma_destroy_srq(id);
    }
    rdma_destroy_id(id);
}

int rdma_get_request(rdma_cm_id* listen, rdma_cm_id** id) {
    Endpoint& listener = id_of(listen);
    if (!listener.sync) {
        return fail(EINVAL);
    }
    if (listen->event != nullptr) {
        rdma_ack_cm_event(listen->event);
        listen->event = nullptr;
    }
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(listen->channel, &event) != 0) {
        return -1;
    }
    int error = 0;
    if (event->event == RDMA_CM_EVENT_REJECTED) {
        error = ECONNREFUSED;
    } else if (event->status != 0) {
        error = std::abs(event->status);
    } else if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        error = EINVAL;
    } else if (listener.request_attr != nullptr) {
        ibv_qp_init_attr attr = *listener.request_attr;
        error = rdma_create_qp(event->id, listen->pd, &attr) == 0 ? 0 : errno;
    }
    if (error != 0) {
        listen->event = event;
        return fail(error);
    }
    *id = event->id;
    (*id)->event = event;
    return 0;
}

}  // extern "C"
