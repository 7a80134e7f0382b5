// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The objects behind the public structures: endpoints, event channels, events.

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "abi/rdmacm/daemon.h"
#include "abi/rdmacm/device.h"
#include "core/cm/commands.h"

namespace softib::abi::rdmacm {

struct Group;

struct Channel {
    rdma_event_channel channel{};  // First: programs hold its address.
    std::uint32_t name = 0;
};

struct Endpoint {
    rdma_cm_id id{};  // First: programs hold its address.
    cm::IdHandle handle = 0;
    Device* device = nullptr;
    bool sync = false;            ///< Has a channel of its own, and calls wait for their events.
    bool connect_failed = false;  ///< We turned a response down: what follows of it is no news.
    std::uint8_t initiator_depth = 0;
    std::uint8_t responder_resources = 0;
    cm::Ece local_ece{};
    cm::Ece remote_ece{};
    Group* groups = nullptr;                   ///< Under `mutex`.
    ibv_qp_init_attr* request_attr = nullptr;  ///< In a listener: for the queue pairs of requests.
    void* connect_data = nullptr;              ///< To send before what the program sends.
    std::uint8_t connect_bytes = 0;
    std::mutex mutex;
    std::condition_variable acked;
    std::uint32_t events_given = 0;  ///< Both under `mutex`.
    std::uint32_t events_acked = 0;
    Endpoint* next = nullptr;  ///< In the table of ids.
};

/// A multicast group that an endpoint has joined or asked to.
struct Group {
    cm::IdHandle join = 0;
    bool sends_only = false;
    bool attached = false;
    void* context = nullptr;
    sockaddr_storage address{};
    ibv_gid mgid{};
    std::uint16_t mlid = 0;
    Group* next = nullptr;
};

struct GivenEvent {
    rdma_cm_event event{};   // First: programs hold its address.
    Endpoint* id = nullptr;  ///< The endpoint that has the event: for a request, its listener.
    std::uint8_t private_data[cm::kPrivateDataMax]{};
};

inline Endpoint& id_of(rdma_cm_id* id) {
    return *reinterpret_cast<Endpoint*>(id);
}
inline std::uint32_t channel_name(const rdma_event_channel* channel) {
    return reinterpret_cast<const Channel*>(channel)->name;
}

/// -1 with errno, as every call of this library fails.
inline int fail(int error) {
    errno = error;
    return -1;
}
/// What verbs return.
inline int checked(int error) {
    return error == 0 ? 0 : fail(error);
}

/// A new endpoint. Without a channel it gets its own. nullptr and errno.
Endpoint* make_id(rdma_event_channel* channel, void* context, rdma_port_space ps, ibv_qp_type type,
                  cm::IdHandle handle);
void free_id(Endpoint* id);
/// Returns the endpoint with this handle, or nullptr.
Endpoint* find_id(cm::IdHandle handle);

/// Takes over what the manager says of the endpoint; opens its device. 0 or -1.
int update(Endpoint& id, const cm::IdInfo& info);

/// Executes and takes over. 0 or -1.
int command(Endpoint& id, const cm::Command& command);

/// Waits for the event of what was just begun, if the endpoint is one that waits.
int complete(Endpoint& id);

/// Queue pairs of endpoints follow their connection. Without a queue pair: nothing to do.
int modify_to_rtr(Endpoint& id, std::uint8_t responder_resources);
int modify_to_rts(Endpoint& id, std::uint8_t initiator_depth);
int modify_to_err(Endpoint& id);
/// Both, and tells the manager: the connection is up.
int confirm(Endpoint& id);

/// The endpoint has joined; attaches its queue pair. 0 or -1.
int attach(Endpoint& id, Group& group, const ibv_ah_attr& to);
Group* find_group(Endpoint& id, cm::IdHandle join);
void free_groups(Endpoint& id);

}  // namespace softib::abi::rdmacm
