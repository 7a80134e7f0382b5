// SPDX-License-Identifier: BSD-2-Clause
// Endpoints: creating and destroying them, binding, addresses and routes.
#include "abi/rdmacm/id.h"

#include <endian.h>
#include <infiniband/ib.h>
#include <infiniband/sa.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "abi/rdmacm/convert.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::size_t kBuckets = 1024;

std::mutex g_ids_mutex;
Endpoint* g_ids[kBuckets];

void insert(Endpoint& id) {
    const std::lock_guard guard(g_ids_mutex);
    Endpoint*& bucket = g_ids[id.handle % kBuckets];
    id.next = bucket;
    bucket = &id;
}

void remove(const Endpoint& id) {
    const std::lock_guard guard(g_ids_mutex);
    for (Endpoint** at = &g_ids[id.handle % kBuckets]; *at != nullptr; at = &(*at)->next) {
        if (*at == &id) {
            *at = id.next;
            return;
        }
    }
}

void destroy_at_manager(cm::IdHandle handle) {
    cm::Reply ignored;
    execute(command_of(cm::Operation::kDestroyId, handle), ignored);
}

/// Takes an event of a destroyed endpoint off its channel, if it is the next one there: it would
/// wake the program for nothing.
void take_back_event(int fd, cm::IdHandle handle) {
    cm::Event event;
    if (!peek_event(fd, event) || (event.id != handle && event.listener != handle) ||
        !take_event(fd, event)) {
        return;
    }
    if (event.type == cm::EventType::kConnectRequest && event.listener == handle) {
        destroy_at_manager(event.id);
    }
}

ibv_qp_type default_type(rdma_port_space ps) {
    return ps == RDMA_PS_IPOIB || ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
}

}  // namespace

Endpoint* find_id(cm::IdHandle handle) {
    const std::lock_guard guard(g_ids_mutex);
    Endpoint* id = g_ids[handle % kBuckets];
    while (id != nullptr && id->handle != handle) {
        id = id->next;
    }
    return id;
}

Endpoint* make_id(rdma_event_channel* channel, void* context, rdma_port_space ps, ibv_qp_type type,
                  cm::IdHandle handle) {
    auto* const id = new (std::nothrow) Endpoint;
    if (id == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    id->id.context = context;
    id->id.ps = ps;
    id->id.qp_type = type;
    id->id.channel = channel;
    if (channel == nullptr) {
        id->id.channel = rdma_create_event_channel();
        id->sync = true;
        if (id->id.channel == nullptr) {
            delete id;
            return nullptr;
        }
    }
    if (handle == 0) {
        cm::Command command = command_of(cm::Operation::kCreateId, 0);
        command.channel = channel_name(id->id.channel);
        command.port_space = static_cast<cm::PortSpace>(ps);
        command.qp_type = static_cast<cm::QpType>(type);
        cm::Reply reply;
        if (!execute(command, reply)) {
            const int error = errno;
            if (id->sync) {
                rdma_destroy_event_channel(id->id.channel);
            }
            delete id;
            errno = error;
            return nullptr;
        }
        handle = reply.id;
    }
    id->handle = handle;
    insert(*id);
    return id;
}

void free_id(Endpoint* id) {
    free_groups(*id);
    put_device(id->device);
    std::free(id->id.route.path_rec);
    std::free(id->request_attr);
    std::free(id->connect_data);
    if (id->sync) {
        rdma_destroy_event_channel(id->id.channel);
    }
    delete id;
}

int update(Endpoint& id, const cm::IdInfo& info) {
    rdma_addr& addr = id.id.route.addr;
    to_sockaddr(info.source, addr.src_storage);
    to_sockaddr(info.destination, addr.dst_storage);
    if (info.node_guid.value != 0) {
        std::memcpy(addr.addr.ibaddr.sgid.raw, info.source_gid.bytes.data(), 16);
        std::memcpy(addr.addr.ibaddr.dgid.raw, info.destination_gid.bytes.data(), 16);
        addr.addr.ibaddr.pkey = htobe16(info.pkey.value);
        id.id.port_num = info.port_num;
        if (id.device == nullptr) {
            id.device = get_device(info.node_guid);
            if (id.device == nullptr) {
                return -1;
            }
            id.id.verbs = id.device->context;
            id.id.pd = id.device->pd;
        }
    }
    if (info.has_path != 0) {
        if (id.id.route.path_rec == nullptr) {
            id.id.route.path_rec =
                static_cast<ibv_sa_path_rec*>(std::calloc(1, sizeof(ibv_sa_path_rec)));
            if (id.id.route.path_rec == nullptr) {
                return fail(ENOMEM);
            }
            id.id.route.num_paths = 1;
        }
        to_path_rec(info, *id.id.route.path_rec);
    }
    return 0;
}

int command(Endpoint& id, const cm::Command& command) {
    cm::Reply reply;
    return execute(command, reply) ? update(id, reply.info) : -1;
}

int complete(Endpoint& id) {
    if (!id.sync) {
        return 0;
    }
    if (id.id.event != nullptr) {
        rdma_ack_cm_event(id.id.event);
        id.id.event = nullptr;
    }
    if (rdma_get_cm_event(id.id.channel, &id.id.event) != 0) {
        return -1;
    }
    const int status = id.id.event->status;
    if (status == 0) {
        return 0;
    }
    return fail(id.id.event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : std::abs(status));
}

}  // namespace softib::abi::rdmacm

using namespace softib;
using namespace softib::abi::rdmacm;

extern "C" {

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space ps) {
    Endpoint* const made = make_id(channel, context, ps, default_type(ps), 0);
    if (made == nullptr) {
        return -1;
    }
    *id = &made->id;
    return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
    Endpoint& endpoint = id_of(id);
    destroy_at_manager(endpoint.handle);
    remove(endpoint);
    if (!endpoint.sync) {
        take_back_event(id->channel->fd, endpoint.handle);
    }
    if (id->event != nullptr) {
        rdma_ack_cm_event(id->event);
        id->event = nullptr;
    }
    {
        std::unique_lock lock(endpoint.mutex);
        endpoint.acked.wait(lock,
                            [&endpoint] { return endpoint.events_acked == endpoint.events_given; });
    }
    free_id(&endpoint);
    return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* addr) {
    if (address_bytes(addr) == 0) {
        return fail(EINVAL);
    }
    cm::Command bind = command_of(cm::Operation::kBind, id_of(id).handle);
    bind.source = from_sockaddr(addr);
    return command(id_of(id), bind);
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* src_addr, sockaddr* dst_addr, int timeout_ms) {
    if (address_bytes(dst_addr) == 0 || (src_addr != nullptr && address_bytes(src_addr) == 0)) {
        return fail(EINVAL);
    }
    Endpoint& endpoint = id_of(id);
    cm::Command resolve = command_of(cm::Operation::kResolveAddr, endpoint.handle);
    resolve.source = from_sockaddr(src_addr);
    resolve.destination = from_sockaddr(dst_addr);
    resolve.timeout_ms = static_cast<std::uint32_t>(timeout_ms);
    // Written before the command, because a thread that takes the event may change this address.
    std::memcpy(&id->route.addr.dst_storage, dst_addr, address_bytes(dst_addr));
    cm::Reply reply;
    if (!execute(resolve, reply)) {
        return -1;
    }
    return complete(endpoint);
}

int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
    Endpoint& endpoint = id_of(id);
    cm::Command resolve = command_of(cm::Operation::kResolveRoute, endpoint.handle);
    resolve.timeout_ms = static_cast<std::uint32_t>(timeout_ms);
    cm::Reply reply;
    return execute(resolve, reply) ? complete(endpoint) : -1;
}

/// Sets the path by the first record that is for all uses and both directions, as Linux does. Skips
/// other records, such as those of alternate paths.
static int set_path(Endpoint& endpoint, const std::uint8_t* records, std::size_t bytes) {
    constexpr std::uint32_t kWanted =
        IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
    static_assert(sizeof(ibv_path_record) == cm::kPathRecordBytes);
    if (bytes % sizeof(ibv_path_data) != 0) {
        return fail(EINVAL);
    }
    for (std::size_t at = 0; at < bytes; at += sizeof(ibv_path_data)) {
        ibv_path_data data;
        std::memcpy(&data, records + at, sizeof data);
        if (data.flags == kWanted) {
            cm::Command route = command_of(cm::Operation::kSetRoute, endpoint.handle);
            std::memcpy(route.path.data(), &data.path, sizeof data.path);
            cm::Reply reply;
            return execute(route, reply) ? 0 : -1;
        }
    }
    return fail(EINVAL);
}

int rdma_set_option(rdma_cm_id* id, int level, int optname, void* optval, size_t optlen) {
    Endpoint& endpoint = id_of(id);
    if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH) {
        return set_path(endpoint, static_cast<const std::uint8_t*>(optval), optlen);
    }
    if (level != RDMA_OPTION_ID) {
        return fail(ENOSYS);
    }
    cm::Command option = command_of(cm::Operation::kSetOption, endpoint.handle);
    option.option = static_cast<std::uint32_t>(optname);
    if (optname == RDMA_OPTION_ID_TOS || optname == RDMA_OPTION_ID_ACK_TIMEOUT) {
        if (optlen != sizeof(std::uint8_t)) {
            return fail(EINVAL);
        }
        option.value = *static_cast<const std::uint8_t*>(optval);
    } else {
        if (optlen != sizeof(int)) {
            return fail(EINVAL);
        }
        int value = 0;
        std::memcpy(&value, optval, sizeof value);
        option.value = value != 0 ? 1 : 0;
    }
    cm::Reply reply;
    return execute(option, reply) ? 0 : -1;
}

static __be16 port_of(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        return reinterpret_cast<const sockaddr_in&>(address).sin_port;
    }
    if (address.ss_family == AF_INET6) {
        return reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
    }
    if (address.ss_family == AF_IB) {
        const auto& ib = reinterpret_cast<const sockaddr_ib&>(address);
        return htobe16(static_cast<std::uint16_t>(be64toh(ib.sib_sid) & be64toh(ib.sib_sid_mask)));
    }
    return 0;
}

__be16 rdma_get_src_port(rdma_cm_id* id) {
    return port_of(id->route.addr.src_storage);
}

__be16 rdma_get_dst_port(rdma_cm_id* id) {
    return port_of(id->route.addr.dst_storage);
}

}  // extern "C"
