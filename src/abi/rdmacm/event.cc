// SPDX-License-Identifier: BSD-2-Clause
// Event channels and their events. A channel's descriptor is a connection to the daemon, which is
// readable exactly when there is an event for the program.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"

namespace softib::abi::rdmacm {

namespace {

void fill_conn(GivenEvent& given, const cm::Event& event) {
    const cm::ConnectionParameters& from = event.parameters;
    rdma_conn_param& to = given.event.param.conn;
    to.responder_resources = from.responder_resources;
    to.initiator_depth = from.initiator_depth;
    to.flow_control = from.flow_control;
    to.retry_count = from.retry_count;
    to.rnr_retry_count = from.rnr_retry_count;
    to.srq = from.srq;
    to.qp_num = from.qpn.value;
}

void fill_ud(GivenEvent& given, const cm::Event& event) {
    rdma_ud_param& to = given.event.param.ud;
    to.ah_attr = to_ah_attr(event.destination);
    to.qp_num = event.parameters.qpn.value;
    to.qkey = event.parameters.qkey.value;
}

/// Copies the private data of an event. Parameters of connections and of datagrams both begin with
/// it.
void fill_private(GivenEvent& given, const cm::Event& event) {
    static_assert(offsetof(rdma_conn_param, private_data) == offsetof(rdma_ud_param, private_data));
    const std::size_t bytes =
        std::min<std::size_t>(event.parameters.private_data_bytes, sizeof given.private_data);
    rdma_conn_param& to = given.event.param.conn;
    to.private_data_len = static_cast<std::uint8_t>(std::min<std::size_t>(bytes, 255));
    if (bytes != 0) {
        std::memcpy(given.private_data, event.parameters.private_data.data(), bytes);
        to.private_data = given.private_data;
    }
}

/// Makes an endpoint for a connection request. Returns false if none can be made: the request is
/// then rejected.
bool welcome(GivenEvent& given, Endpoint& listener, const cm::Event& event) {
    Endpoint* const id = make_id(listener.id.channel, listener.id.context, listener.id.ps,
                                 listener.id.qp_type, event.id);
    if (id == nullptr) {
        cm::Reply ignored;
        execute(command_of(cm::Operation::kDestroyId, event.id), ignored);
        return false;
    }
    id->initiator_depth = event.parameters.initiator_depth;
    id->responder_resources = event.parameters.responder_resources;
    id->remote_ece = event.parameters.ece;
    if ((listener.sync && rdma_migrate_id(&id->id, nullptr) != 0) || update(*id, event.info) != 0) {
        rdma_destroy_id(&id->id);
        return false;
    }
    given.event.id = &id->id;
    given.event.listen_id = &listener.id;
    return true;
}

void take_response(GivenEvent& given, Endpoint& id, const cm::Ece& ece) {
    id.remote_ece = ece;
    if (id.id.qp == nullptr) {
        return;  // The program brings its queue pair up, and then calls rdma_establish.
    }
    if (confirm(id) == 0) {
        given.event.event = RDMA_CM_EVENT_ESTABLISHED;
        return;
    }
    given.event.event = RDMA_CM_EVENT_CONNECT_ERROR;
    given.event.status = -errno;
    id.connect_failed = true;
    cm::Reply ignored;
    execute(command_of(cm::Operation::kReject, id.handle), ignored);
}

void take_join(GivenEvent& given, Endpoint& id, const cm::Event& event) {
    Group* const group = find_group(id, event.join);
    given.event.param.ud.private_data = group == nullptr ? nullptr : group->context;
    given.event.param.ud.private_data_len = 0;
    if (event.type == cm::EventType::kMulticastJoin && group != nullptr &&
        attach(id, *group, given.event.param.ud.ah_attr) != 0) {
        given.event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
        given.event.status = -errno;
    }
}

/// Turns the connection manager's event into the program's. Returns false if the program is told
/// nothing.
bool translate(GivenEvent& given, Endpoint& id, const cm::Event& event) {
    given.id = &id;
    given.event.id = &id.id;
    given.event.event = static_cast<rdma_cm_event_type>(event.type);
    given.event.status = event.status;
    if (id.id.qp_type == IBV_QPT_UD) {
        fill_ud(given, event);
    } else {
        fill_conn(given, event);
    }
    fill_private(given, event);
    switch (event.type) {
        case cm::EventType::kConnectRequest:
            return welcome(given, id, event);
        case cm::EventType::kAddrResolved:
        case cm::EventType::kRouteResolved:
            if (update(id, event.info) != 0) {
                given.event.event = event.type == cm::EventType::kAddrResolved
                                        ? RDMA_CM_EVENT_ADDR_ERROR
                                        : RDMA_CM_EVENT_ROUTE_ERROR;
                given.event.status = -errno;
            }
            return true;
        case cm::EventType::kConnectResponse:
            take_response(given, id, event.parameters.ece);
            return true;
        case cm::EventType::kRejected:
            modify_to_err(id);
            return !id.connect_failed;
        case cm::EventType::kDisconnected:
            return !id.connect_failed;
        case cm::EventType::kMulticastJoin:
        case cm::EventType::kMulticastError:
            take_join(given, id, event);
            return true;
        default:
            return true;
    }
}

}  // namespace

}  // namespace softib::abi::rdmacm

using namespace softib;
using namespace softib::abi::rdmacm;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
    auto* const channel = new (std::nothrow) Channel;
    if (channel == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    channel->channel.fd = open_channel(channel->name);
    if (channel->channel.fd < 0) {
        const int error = errno;
        delete channel;
        errno = error;
        return nullptr;
    }
    return &channel->channel;
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
    close(channel->fd);
    delete reinterpret_cast<Channel*>(channel);
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
    if (event == nullptr) {
        return fail(EINVAL);
    }
    auto* const given = new (std::nothrow) GivenEvent;
    if (given == nullptr) {
        return fail(ENOMEM);
    }
    cm::Event taken;
    while (take_event(channel->fd, taken)) {
        const bool is_request = taken.type == cm::EventType::kConnectRequest;
        Endpoint* const id = find_id(is_request ? taken.listener : taken.id);
        if (id == nullptr) {
            // The endpoint was destroyed meanwhile.
            if (is_request) {
                cm::Reply ignored;
                execute(command_of(cm::Operation::kDestroyId, taken.id), ignored);
            }
            continue;
        }
        *given = GivenEvent{};
        if (translate(*given, *id, taken)) {
            const std::lock_guard guard(id->mutex);
            ++id->events_given;
            *event = &given->event;
            return 0;
        }
    }
    const int error = errno;
    delete given;
    return fail(error);
}

int rdma_ack_cm_event(rdma_cm_event* event) {
    if (event == nullptr) {
        return fail(EINVAL);
    }
    auto* const given = reinterpret_cast<GivenEvent*>(event);
    {
        const std::lock_guard guard(given->id->mutex);
        ++given->id->events_acked;
        given->id->acked.notify_all();
    }
    delete given;
    return 0;
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
    Endpoint& endpoint = id_of(id);
    const bool sync = channel == nullptr;
    if (sync) {
        channel = rdma_create_event_channel();
        if (channel == nullptr) {
            return -1;
        }
    }
    cm::Command migrate = command_of(cm::Operation::kMigrate, endpoint.handle);
    migrate.channel = channel_name(channel);
    cm::Reply reply;
    if (!execute(migrate, reply)) {
        const int error = errno;
        if (sync) {
            rdma_destroy_event_channel(channel);
        }
        return fail(error);
    }
    // An event that no thread has taken from the old channel moves to the new one.
    put_back_event(id->channel->fd, channel_name(id->channel), endpoint.handle);
    if (endpoint.sync) {
        if (id->event != nullptr) {
            rdma_ack_cm_event(id->event);
            id->event = nullptr;
        }
        rdma_destroy_event_channel(id->channel);
    }
    {
        // Events taken from the old channel must be acknowledged first.
        std::unique_lock lock(endpoint.mutex);
        endpoint.acked.wait(lock,
                            [&endpoint] { return endpoint.events_acked == endpoint.events_given; });
    }
    id->channel = channel;
    endpoint.sync = sync;
    return 0;
}

}  // extern "C"
