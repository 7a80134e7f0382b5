// SPDX-License-Identifier: BSD-2-Clause
// Connections by librdmacm with both ends in this process: events that move with their endpoint,
// and requests that were posted before the end of a connection.
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

struct CloseChannel {
    void operator()(rdma_event_channel* p) const { rdma_destroy_event_channel(p); }
};
struct DestroyId {
    void operator()(rdma_cm_id* p) const {
        if (p->qp != nullptr) {
            rdma_destroy_qp(p);
        }
        EXPECT_EQ(rdma_destroy_id(p), 0);
    }
};
using EventChannel = std::unique_ptr<rdma_event_channel, CloseChannel>;
using Id = std::unique_ptr<rdma_cm_id, DestroyId>;

EventChannel make_channel() {
    return EventChannel(rdma_create_event_channel());
}

struct CmEvent {
    rdma_cm_event_type type;
    rdma_cm_id* id;
};

/// Waits for the next event and acknowledges it.
std::optional<CmEvent> next_event(const EventChannel& channel) {
    rdma_cm_event* event = nullptr;
    if (!readable(channel->fd) || rdma_get_cm_event(channel.get(), &event) != 0) {
        return std::nullopt;
    }
    const CmEvent out{event->event, event->id};
    rdma_ack_cm_event(event);
    return out;
}

rdma_cm_id* expect_event(const EventChannel& channel, rdma_cm_event_type type) {
    const auto event = next_event(channel);
    EXPECT_TRUE(event && event->type == type) << (event ? rdma_event_str(event->type) : "no event")
                                              << " instead of " << rdma_event_str(type);
    return event ? event->id : nullptr;
}

bool has_event(const EventChannel& channel) {
    return readable(channel->fd, 0ms);
}

Id make_id(const EventChannel& channel) {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP), 0);
    return Id(id);
}

void make_qp(rdma_cm_id* id) {
    ibv_qp_init_attr attr{};
    attr.cap = {8, 8, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;
    ASSERT_EQ(rdma_create_qp(id, nullptr, &attr), 0);
}

rdma_conn_param parameters() {
    rdma_conn_param p{};
    p.responder_resources = p.initiator_depth = 1;
    p.retry_count = p.rnr_retry_count = 7;
    return p;
}

/// A listener and a client, each with a channel of its own.
struct Ends {
    Ends() {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        EXPECT_EQ(rdma_bind_addr(listener.get(), reinterpret_cast<sockaddr*>(&any)), 0);
        EXPECT_EQ(rdma_listen(listener.get(), 4), 0);
    }
    /// Makes the client ask for a connection.
    void ask() {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = rdma_get_src_port(listener.get());
        inet_pton(AF_INET, "127.55.0.1", &to.sin_addr);  // The address of the first host.
        ASSERT_EQ(rdma_resolve_addr(client.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 2000),
                  0);
        expect_event(client_channel, RDMA_CM_EVENT_ADDR_RESOLVED);
        ASSERT_EQ(rdma_resolve_route(client.get(), 2000), 0);
        expect_event(client_channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
        make_qp(client.get());
        rdma_conn_param param = parameters();
        ASSERT_EQ(rdma_connect(client.get(), &param), 0);
    }
    void accept(rdma_cm_id* id) {
        server.reset(id);
        ASSERT_NE(id, nullptr);
        make_qp(id);
        rdma_conn_param param = parameters();
        ASSERT_EQ(rdma_accept(id, &param), 0);
    }
    /// Connects the two ends. The server's endpoint is accepted, and its ESTABLISHED event is not
    /// taken yet.
    void connect() {
        ask();
        accept(expect_event(server_channel, RDMA_CM_EVENT_CONNECT_REQUEST));
        expect_event(client_channel, RDMA_CM_EVENT_ESTABLISHED);
        EXPECT_TRUE(readable(server_channel->fd));
    }
    EventChannel server_channel = make_channel();
    EventChannel client_channel = make_channel();
    Id listener = make_id(server_channel);
    Id client = make_id(client_channel);
    Id server;
};

TEST(Migration, TakesAlongTheEventUnderWay) {
    const EventChannel fresh = make_channel();
    Ends ends;
    ends.connect();
    ASSERT_EQ(rdma_migrate_id(ends.server.get(), fresh.get()), 0);
    EXPECT_TRUE(has_event(fresh));
    EXPECT_FALSE(has_event(ends.server_channel));
    EXPECT_EQ(expect_event(fresh, RDMA_CM_EVENT_ESTABLISHED), ends.server.get());
}

TEST(Migration, KeepsTheOrderOfEvents) {
    const EventChannel first = make_channel();
    const EventChannel second = make_channel();
    Ends ends;
    ends.connect();
    // The DISCONNECTED event waits behind ESTABLISHED.
    ASSERT_EQ(rdma_disconnect(ends.client.get()), 0);
    expect_event(ends.client_channel, RDMA_CM_EVENT_DISCONNECTED);
    ASSERT_EQ(rdma_migrate_id(ends.server.get(), first.get()), 0);
    ASSERT_EQ(rdma_migrate_id(ends.server.get(), second.get()), 0);
    EXPECT_FALSE(has_event(ends.server_channel));
    EXPECT_FALSE(has_event(first));
    expect_event(second, RDMA_CM_EVENT_ESTABLISHED);
    expect_event(second, RDMA_CM_EVENT_DISCONNECTED);
}

TEST(Migration, LeavesTheEventsOfOthers) {
    const EventChannel fresh = make_channel();
    Ends ends;
    ends.connect();
    ASSERT_EQ(rdma_migrate_id(ends.listener.get(), fresh.get()), 0);
    EXPECT_FALSE(has_event(fresh));
    expect_event(ends.server_channel, RDMA_CM_EVENT_ESTABLISHED);
}

TEST(Migration, OfAListenerTakesItsRequestsAlong) {
    const EventChannel fresh = make_channel();
    Ends ends;
    ends.ask();
    ASSERT_TRUE(readable(ends.server_channel->fd));
    ASSERT_EQ(rdma_migrate_id(ends.listener.get(), fresh.get()), 0);
    EXPECT_FALSE(has_event(ends.server_channel));
    rdma_cm_id* const id = expect_event(fresh, RDMA_CM_EVENT_CONNECT_REQUEST);
    ASSERT_NE(id, nullptr);
    EXPECT_EQ(id->channel, fresh.get());
    ends.accept(id);
    expect_event(ends.client_channel, RDMA_CM_EVENT_ESTABLISHED);
    expect_event(fresh, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_FALSE(has_event(ends.server_channel));
}

/// One thread waits on the old channel while another moves the endpoint: each event comes once.
TEST(Migration, RacesWithAReaderOfTheOldChannel) {
    for (int round = 0; round < 50; ++round) {
        const EventChannel fresh = make_channel();
        Ends ends;
        ends.connect();
        std::optional<CmEvent> taken;
        std::thread reader([&] {
            if (readable(ends.server_channel->fd, 0ms)) {
                // The event may be gone by now; then this waits for the next one.
                rdma_cm_event* event = nullptr;
                ASSERT_EQ(rdma_get_cm_event(ends.server_channel.get(), &event), 0);
                taken = CmEvent{event->event, event->id};
                rdma_ack_cm_event(event);
            }
        });
        ASSERT_EQ(rdma_migrate_id(ends.server.get(), fresh.get()), 0);
        const bool moved = has_event(fresh);
        // Ends the wait of a reader that came too late.
        Id other = make_id(ends.server_channel);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        inet_pton(AF_INET, "127.55.0.1", &to.sin_addr);
        ASSERT_EQ(rdma_resolve_addr(other.get(), nullptr, reinterpret_cast<sockaddr*>(&to), 2000),
                  0);
        reader.join();
        const bool read = taken && taken->type == RDMA_CM_EVENT_ESTABLISHED;
        EXPECT_NE(moved, read) << "in round " << round;
        if (moved) {
            expect_event(fresh, RDMA_CM_EVENT_ESTABLISHED);
        }
        EXPECT_FALSE(has_event(fresh));
    }
}

/// Requests that were posted before the disconnect have left before the queue pair stops, as in the
/// send queue of an HCA.
TEST(Disconnecting, LetsGoWhatWasPostedBefore) {
    constexpr int kMessages = 5;
    for (int round = 0; round < 20; ++round) {
        Ends ends;
        ends.connect();
        expect_event(ends.server_channel, RDMA_CM_EVENT_ESTABLISHED);
        Buffer memory;
        const Owned<ibv_mr> to(rdma_reg_msgs(ends.server.get(), memory.data(), memory.size()));
        const Owned<ibv_mr> from(rdma_reg_msgs(ends.client.get(), memory.data(), memory.size()));
        for (int i = 0; i < kMessages; ++i) {
            ASSERT_EQ(rdma_post_recv(ends.server.get(), nullptr, memory.data(), 64, to.get()), 0);
        }
        for (int i = 0; i < kMessages; ++i) {
            ASSERT_EQ(rdma_post_send(ends.client.get(), nullptr, memory.data(), 64, from.get(),
                                     IBV_SEND_SIGNALED),
                      0);
        }
        ASSERT_EQ(rdma_disconnect(ends.client.get()), 0);
        expect_event(ends.server_channel, RDMA_CM_EVENT_DISCONNECTED);
        for (const ibv_wc& wc : poll_many(ends.server->recv_cq, kMessages)) {
            EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
        }
        EXPECT_EQ(poll_many(ends.client->send_cq, kMessages).size(), std::size_t{kMessages});
        rdma_disconnect(ends.server.get());
        rdma_destroy_qp(ends.client.get());
        rdma_destroy_qp(ends.server.get());
    }
}

}  // namespace
}  // namespace softib::test
