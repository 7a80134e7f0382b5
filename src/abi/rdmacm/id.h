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
    bool sync = false;  ///< The endpoint has a channel of its own, and calls wait for their events.
    /// The queue pair could not be brought up after a connect response. The program has been told;
    /// later events of that connection are not passed on.
    bool connect_failed = false;
    std::uint8_t initiator_depth = 0;
    std::uint8_t responder_resources = 0;
    cm::Ece local_ece{};
    cm::Ece remote_ece{};
    Group* groups = nullptr;  ///< Guarded by `mutex`.
    /// In a listener, the attributes of the queue pair that each connection request gets.
    ibv_qp_init_attr* request_attr = nullptr;
    /// Private data of rdma_getaddrinfo (ai_connect), sent before that of the program.
    void* connect_data = nullptr;
    std::uint8_t connect_bytes = 0;
    std::mutex mutex;
    std::condition_variable acked;
    std::uint32_t events_given = 0;  ///< Guarded by `mutex`.
    std::uint32_t events_acked = 0;  ///< Guarded by `mutex`.
    Endpoint* next = nullptr;        ///< The next endpoint in the table of ids.
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
    Endpoint* id = nullptr;  ///< The endpoint that counts the event: for a request, the listener.
    std::uint8_t private_data[cm::kPrivateDataMax]{};
};

inline Endpoint& id_of(rdma_cm_id* id) {
    return *reinterpret_cast<Endpoint*>(id);
}
inline std::uint32_t channel_name(const rdma_event_channel* channel) {
    return reinterpret_cast<const Channel*>(channel)->name;
}

/// Sets errno and returns -1, as every call of this library does when it fails.
inline int fail(int error) {
    errno = error;
    return -1;
}
/// Turns the result of a verb (0 or an errno value) into 0, or -1 with errno set.
inline int checked(int error) {
    return error == 0 ? 0 : fail(error);
}

/// Makes an endpoint. If `channel` is nullptr, it gets a channel of its own; if `handle` is 0, the
/// manager makes a new id for it. Returns nullptr, with errno set, if that fails.
Endpoint* make_id(rdma_event_channel* channel, void* context, rdma_port_space ps, ibv_qp_type type,
                  cm::IdHandle handle);
void free_id(Endpoint* id);
/// Returns the endpoint with this handle, or nullptr.
Endpoint* find_id(cm::IdHandle handle);

/// Copies what the manager says of an endpoint into it, and opens its device. Returns 0, or -1 with
/// errno set.
int update(Endpoint& id, const cm::IdInfo& info);

/// Has the manager execute a command, and updates the endpoint by the reply. Returns 0, or -1 with
/// errno set.
int command(Endpoint& id, const cm::Command& command);

/// Waits for the event of the operation that was just begun, if the endpoint is a synchronous one.
/// Returns 0, or -1 with errno set by the event's status.
int complete(Endpoint& id);

// These bring the queue pair of an endpoint into the state of its connection. They do nothing if
// the endpoint has no queue pair. They return 0, or -1 with errno set.
int modify_to_rtr(Endpoint& id, std::uint8_t responder_resources);
int modify_to_rts(Endpoint& id, std::uint8_t initiator_depth);
int modify_to_err(Endpoint& id);
/// Brings the queue pair to RTR and RTS, and has the manager send the RTU. Returns 0, or -1 with
/// errno set.
int confirm(Endpoint& id);

/// Attaches the endpoint's queue pair to a group that the manager has joined. Returns 0, or -1 with
/// errno set.
int attach(Endpoint& id, Group& group, const ibv_ah_attr& to);
Group* find_group(Endpoint& id, cm::IdHandle join);
void free_groups(Endpoint& id);

}  // namespace softib::abi::rdmacm
