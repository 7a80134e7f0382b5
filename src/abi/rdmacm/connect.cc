// SPDX-License-Identifier: BSD-2-Clause
// Connections: listening, connecting, accepting, disconnecting.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/rdmacm/id.h"
#include "core/wire/cm/cm_rej.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::uint8_t kRetriesDefault = 7;
constexpr auto kReasonEce =
    static_cast<std::uint8_t>(wire::RejectReason::kVendorOptionNotSupported);

bool is_datagram(const rdma_cm_id* id) {
    return id->qp_type == IBV_QPT_UD;
}

/// Returns whether the device can do what the program asks for. If the endpoint has no queue pair,
/// the program must give parameters, which name its own.
bool parameters_fit(const Endpoint& id, const rdma_conn_param* param) {
    if (id.id.ps != RDMA_PS_TCP) {
        return true;
    }
    if (param == nullptr) {
        return id.id.qp != nullptr;
    }
    const bool resources_fit =
        param->responder_resources == RDMA_MAX_RESP_RES ||
        (id.device != nullptr && param->responder_resources <= id.device->responder_resources_max);
    const bool depth_fits =
        param->initiator_depth == RDMA_MAX_INIT_DEPTH ||
        (id.device != nullptr && param->initiator_depth <= id.device->initiator_depth_max);
    return resources_fit && depth_fits;
}

bool append_private(cm::ConnectionParameters& to, const void* data, std::size_t bytes) {
    if (bytes > to.private_data.size() - to.private_data_bytes) {
        return false;
    }
    if (data != nullptr && bytes != 0) {
        std::memcpy(to.private_data.data() + to.private_data_bytes, data, bytes);
        to.private_data_bytes = static_cast<std::uint16_t>(to.private_data_bytes + bytes);
    }
    return true;
}

bool fill(cm::ConnectionParameters& to, const Endpoint& id, const rdma_conn_param* param) {
    to.qpn = Qpn{id.id.qp != nullptr ? id.id.qp->qp_num : param != nullptr ? param->qp_num : 0};
    to.srq = id.id.qp != nullptr ? (id.id.qp->srq != nullptr ? 1 : 0)
             : param != nullptr  ? param->srq
                                 : std::uint8_t{0};
    to.responder_resources = id.responder_resources;
    to.initiator_depth = id.initiator_depth;
    to.flow_control = param == nullptr ? std::uint8_t{0} : param->flow_control;
    to.retry_count =
        std::min(param == nullptr ? kRetriesDefault : param->retry_count, kRetriesDefault);
    to.rnr_retry_count =
        std::min(param == nullptr ? kRetriesDefault : param->rnr_retry_count, kRetriesDefault);
    return append_private(to, id.connect_data, id.connect_bytes) &&
           (param == nullptr || append_private(to, param->private_data, param->private_data_len));
}

}  // namespace

int confirm(Endpoint& id) {
    cm::Reply reply;
    if (modify_to_rtr(id, RDMA_MAX_RESP_RES) == 0 && modify_to_rts(id, RDMA_MAX_INIT_DEPTH) == 0 &&
        execute(command_of(cm::Operation::kAccept, id.handle), reply)) {
        return 0;
    }
    const int error = errno;
    modify_to_err(id);
    return fail(error);
}

}  // namespace softib::abi::rdmacm

using namespace softib;
using namespace softib::abi::rdmacm;

extern "C" {

int rdma_listen(rdma_cm_id* id, int backlog) {
    cm::Command listen = command_of(cm::Operation::kListen, id_of(id).handle);
    listen.value = static_cast<std::uint32_t>(std::max(backlog, 0));
    return command(id_of(id), listen);
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* conn_param) {
    Endpoint& endpoint = id_of(id);
    if (!parameters_fit(endpoint, conn_param)) {
        return fail(EINVAL);
    }
    const std::uint8_t depth_max =
        endpoint.device == nullptr ? 0 : endpoint.device->initiator_depth_max;
    const std::uint8_t resources_max =
        endpoint.device == nullptr ? 0 : endpoint.device->responder_resources_max;
    endpoint.initiator_depth =
        conn_param == nullptr || conn_param->initiator_depth == RDMA_MAX_INIT_DEPTH
            ? depth_max
            : conn_param->initiator_depth;
    endpoint.responder_resources =
        conn_param == nullptr || conn_param->responder_resources == RDMA_MAX_RESP_RES
            ? resources_max
            : conn_param->responder_resources;
    cm::Command connect = command_of(cm::Operation::kConnect, endpoint.handle);
    if (!fill(connect.parameters, endpoint, conn_param)) {
        return fail(EINVAL);
    }
    connect.parameters.ece = endpoint.local_ece;
    cm::Reply reply;
    if (!execute(connect, reply)) {
        return -1;
    }
    std::free(endpoint.connect_data);
    endpoint.connect_data = nullptr;
    endpoint.connect_bytes = 0;
    return complete(endpoint);
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* conn_param) {
    Endpoint& endpoint = id_of(id);
    if (!parameters_fit(endpoint, conn_param) || endpoint.device == nullptr) {
        return fail(EINVAL);
    }
    endpoint.initiator_depth =
        conn_param == nullptr || conn_param->initiator_depth == RDMA_MAX_INIT_DEPTH
            ? std::min(endpoint.initiator_depth, endpoint.device->initiator_depth_max)
            : conn_param->initiator_depth;
    endpoint.responder_resources =
        conn_param == nullptr || conn_param->responder_resources == RDMA_MAX_RESP_RES
            ? std::min(endpoint.responder_resources, endpoint.device->responder_resources_max)
            : conn_param->responder_resources;
    // The queue pair is brought up before the reply is sent, so that it is ready for the peer.
    if (!is_datagram(id) && (modify_to_rtr(endpoint, endpoint.responder_resources) != 0 ||
                             modify_to_rts(endpoint, endpoint.initiator_depth) != 0)) {
        return -1;
    }
    cm::Command accept = command_of(cm::Operation::kAccept, endpoint.handle);
    if (!fill(accept.parameters, endpoint, conn_param)) {
        return fail(EINVAL);
    }
    // The reply has our options with the vendor id of the request.
    accept.parameters.ece = {endpoint.remote_ece.vendor_id, endpoint.local_ece.options};
    cm::Reply reply;
    if (!execute(accept, reply)) {
        const int error = errno;
        modify_to_err(endpoint);
        return fail(error);
    }
    if (is_datagram(id)) {
        if (endpoint.sync && id->event != nullptr) {
            rdma_ack_cm_event(id->event);
            id->event = nullptr;
        }
        return 0;
    }
    return complete(endpoint);
}

int rdma_establish(rdma_cm_id* id) {
    if (id->qp != nullptr) {
        return fail(EINVAL);
    }
    return confirm(id_of(id));
}

static int reject(rdma_cm_id* id, const void* private_data, uint8_t private_data_len,
                  std::uint8_t reason) {
    cm::Command reject = command_of(cm::Operation::kReject, id_of(id).handle);
    reject.reason = reason;
    if (!append_private(reject.parameters, private_data, private_data_len)) {
        return fail(EINVAL);
    }
    cm::Reply reply;
    return execute(reject, reply) ? 0 : -1;
}

int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t private_data_len) {
    return reject(id, private_data, private_data_len, 0);
}

int rdma_reject_ece(rdma_cm_id* id, const void* private_data, uint8_t private_data_len) {
    return reject(id, private_data, private_data_len, kReasonEce);
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
    if (event != IBV_EVENT_COMM_EST) {
        return fail(EINVAL);
    }
    cm::Reply reply;
    return execute(command_of(cm::Operation::kNotify, id_of(id).handle), reply) ? 0 : -1;
}

int rdma_disconnect(rdma_cm_id* id) {
    Endpoint& endpoint = id_of(id);
    if (modify_to_err(endpoint) != 0) {
        return -1;
    }
    cm::Reply reply;
    return execute(command_of(cm::Operation::kDisconnect, endpoint.handle), reply)
               ? complete(endpoint)
               : -1;
}

// Enhanced connection options (ECE). Our devices have none, but two programs with queue pairs of
// their own may agree on some.
int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
    if (id == nullptr || id->qp != nullptr || ece == nullptr || ece->vendor_id == 0 ||
        ece->comp_mask != 0) {
        return fail(EINVAL);
    }
    id_of(id).local_ece = {ece->vendor_id, ece->options};
    return 0;
}

int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
    if (id == nullptr || id->qp != nullptr || ece == nullptr) {
        return fail(EINVAL);
    }
    const cm::Ece& remote = id_of(id).remote_ece;
    *ece = {.vendor_id = remote.vendor_id, .options = remote.options, .comp_mask = 0};
    return 0;
}

}  // extern "C"
