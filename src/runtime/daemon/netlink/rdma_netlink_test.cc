// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/netlink/rdma_netlink.h"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <cstring>

#include "runtime/shm/netlink_message.h"
#include "runtime/shm/test_arena.h"

namespace softib::daemon {
namespace {

constexpr std::uint32_t kSequence = 77;
constexpr std::uint32_t kPortId = 4711;

struct Received {
    nlmsghdr head{};
    std::string payload;
    shm::Attributes attributes() const { return shm::Attributes::parse(payload).value(); }
    int error() const {
        int code = 0;
        std::memcpy(&code, payload.data(), sizeof code);
        return -code;
    }
};

std::string request(std::uint16_t command, int flags, const shm::AttributeList& attributes = {}) {
    return shm::netlink_message(
        {.nlmsg_len = 0,
         .nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)),
         .nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags),
         .nlmsg_seq = kSequence,
         .nlmsg_pid = 0},
        attributes.bytes());
}

std::vector<Received> ask(const shm::Arena& arena, std::string_view datagram,
                          std::vector<CmEndpoint> endpoints = {}) {
    const NetlinkView view{
        .arena = arena, .hosts = "h0", .port_id = kPortId, .endpoints = [&] { return endpoints; }};
    std::vector<Received> all;
    for (const std::string& one : answer_netlink(view, datagram)) {
        EXPECT_LE(one.size(), kNetlinkDatagramBytes);
        std::string_view rest = one;
        while (!rest.empty()) {
            Received received;
            std::memcpy(&received.head, rest.data(), sizeof received.head);
            received.payload =
                rest.substr(sizeof received.head, received.head.nlmsg_len - sizeof received.head);
            EXPECT_EQ(received.head.nlmsg_seq, kSequence);
            EXPECT_EQ(received.head.nlmsg_pid, kPortId);
            rest.remove_prefix(shm::netlink_aligned(received.head.nlmsg_len));
            all.push_back(std::move(received));
        }
    }
    return all;
}

shm::AttributeList device(std::uint32_t index) {
    shm::AttributeList a;
    a.put_number(RDMA_NLDEV_ATTR_DEV_INDEX, index);
    return a;
}

/// Makes queue pairs in the arena, as the process of slot 1 would.
void make_qps(const shm::Arena& arena, std::uint32_t count) {
    arena.header->qp_batches_top = (count + shm::kBatchEntries - 1) / shm::kBatchEntries;
    arena.procs[0].pid = 1234;
    arena.procs[0].state = shm::ProcState::kLive;
    for (std::uint32_t i = 0; i < count; ++i) {
        arena.qp_batches[i / shm::kBatchEntries] = 1;
        shm::QpShared& qp = arena.qps[i];
        qp.owner = 1;
        qp.hca = 0;
        qp.type = hca::QpType::kRc;
        qp.state = i == 0 ? hca::QpState::kReset : hca::QpState::kRts;
        qp.qpn = 0x100 + i;
        qp.dest_qpn = 0x900 + i;
        qp.sq_psn = 5;
        qp.pd = 42;
    }
}

TEST(RdmaNetlink, DumpListsTheDevicesOfTheHostAlone) {
    const shm::TestArena fabric;
    const auto all = ask(fabric.arena, request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP | NLM_F_ACK));
    ASSERT_EQ(all.size(), 3U);
    for (std::uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(all[i].head.nlmsg_flags, NLM_F_MULTI);
        const shm::Attributes a = all[i].attributes();
        EXPECT_EQ(a.number(RDMA_NLDEV_ATTR_DEV_INDEX), i);
        EXPECT_EQ(a.text(RDMA_NLDEV_ATTR_DEV_NAME), i == 0 ? "mlx5_0" : "mlx5_1");
        EXPECT_EQ(a.number(RDMA_NLDEV_ATTR_PORT_INDEX), 1U);
        EXPECT_EQ(a.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL), "ib");
    }
    EXPECT_EQ(all[2].head.nlmsg_type, NLMSG_DONE);
}

TEST(RdmaNetlink, OneIsAcknowledgedOnlyWhereThatIsAskedFor) {
    const shm::TestArena fabric;
    EXPECT_EQ(ask(fabric.arena, request(RDMA_NLDEV_CMD_GET, 0, device(1))).size(), 1U);
    const auto all = ask(fabric.arena, request(RDMA_NLDEV_CMD_GET, NLM_F_ACK, device(1)));
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].attributes().text(RDMA_NLDEV_ATTR_DEV_NAME), "mlx5_1");
    EXPECT_EQ(all[1].head.nlmsg_type, NLMSG_ERROR);
    EXPECT_EQ(all[1].error(), 0);
}

TEST(RdmaNetlink, WhatIsWrongIsRefused) {
    const shm::TestArena fabric;
    const auto error = [&](const std::string& datagram) {
        const auto all = ask(fabric.arena, datagram);
        return all.size() == 1 && all[0].head.nlmsg_type == NLMSG_ERROR ? all[0].error() : -1;
    };
    EXPECT_EQ(error(request(RDMA_NLDEV_CMD_GET, 0)), EINVAL);
    EXPECT_EQ(error(request(RDMA_NLDEV_CMD_GET, 0, device(2))), EINVAL);
    shm::AttributeList port = device(0);
    port.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{2});
    EXPECT_EQ(error(request(RDMA_NLDEV_CMD_PORT_GET, 0, port)), EINVAL);
    EXPECT_EQ(error(request(RDMA_NLDEV_CMD_SET, 0, device(0))), EOPNOTSUPP);
    EXPECT_EQ(error(request(0x3FF, 0)), EINVAL);
    shm::AttributeList missing = device(0);
    missing.put_number(RDMA_NLDEV_ATTR_RES_LQPN, std::uint32_t{9});
    EXPECT_EQ(error(request(RDMA_NLDEV_CMD_RES_QP_GET, 0, missing)), ENOENT);
    // A service that is not offered.
    EXPECT_EQ(error(shm::netlink_message(
                  {.nlmsg_len = 0,
                   .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_LS, RDMA_NL_LS_OP_SET_TIMEOUT),
                   .nlmsg_flags = NLM_F_REQUEST,
                   .nlmsg_seq = kSequence,
                   .nlmsg_pid = 0},
                  "")),
              EINVAL);
}

TEST(RdmaNetlink, GarbageIsAnsweredByNothingOrAnError) {
    const shm::TestArena fabric;
    EXPECT_TRUE(ask(fabric.arena, "").empty());
    EXPECT_TRUE(ask(fabric.arena, "short").empty());
    std::string longer = request(RDMA_NLDEV_CMD_GET, 0, device(0));
    longer[0] = 127;  // Longer than the datagram.
    EXPECT_TRUE(ask(fabric.arena, longer).empty());
    std::string cut = request(RDMA_NLDEV_CMD_GET, 0, device(0));
    cut[sizeof(nlmsghdr)] = 2;  // An attribute shorter than its own header.
    const auto all = ask(fabric.arena, cut);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].error(), EINVAL);
}

TEST(RdmaNetlink, PortSaysWhatItsLinkLayerHas) {
    const shm::TestArena fabric;
    shm::AttributeList port = device(1);
    port.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
    const std::string question = request(RDMA_NLDEV_CMD_PORT_GET, 0, port);
    const Received received = ask(fabric.arena, question).at(0);
    EXPECT_EQ(received.attributes().number(RDMA_NLDEV_ATTR_LID), 2U);
    EXPECT_EQ(received.attributes().number(RDMA_NLDEV_ATTR_SM_LID), 1U);
    EXPECT_FALSE(received.attributes().number(RDMA_NLDEV_ATTR_NDEV_INDEX));
    fabric.arena.header->link_layer = hca::LinkLayer::kEthernet;
    fabric.arena.hcas[1].net_interface = 9;
    std::strcpy(fabric.arena.hcas[1].net_name, "eth7");
    const Received ethernet = ask(fabric.arena, question).at(0);
    EXPECT_FALSE(ethernet.attributes().number(RDMA_NLDEV_ATTR_LID));
    EXPECT_EQ(ethernet.attributes().number(RDMA_NLDEV_ATTR_NDEV_INDEX), 9U);
    EXPECT_EQ(ethernet.attributes().text(RDMA_NLDEV_ATTR_NDEV_NAME), "eth7");
}

TEST(RdmaNetlink, ManyQueuePairsComeInManyMessages) {
    const shm::TestArena fabric;
    constexpr std::uint32_t kQps = 300;
    make_qps(fabric.arena, kQps);
    const auto all = ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, device(0)));
    ASSERT_GT(all.size(), 3U);
    EXPECT_EQ(all.back().head.nlmsg_type, NLMSG_DONE);
    std::uint32_t found = 0;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        std::string_view rest = all[i].attributes().bytes(RDMA_NLDEV_ATTR_RES_QP);
        while (!rest.empty()) {
            nlattr head{};
            std::memcpy(&head, rest.data(), sizeof head);
            const auto entry =
                shm::Attributes::parse(rest.substr(sizeof head, head.nla_len - sizeof head));
            ASSERT_TRUE(entry);
            EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_RES_LQPN), 0x100 + found);
            EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_RES_RQPN), 0x900 + found);
            EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_RES_PID), 1234U);
            // Only a queue pair in RESET has no port.
            EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_PORT_INDEX).has_value(), found != 0);
            ++found;
            rest.remove_prefix(shm::netlink_aligned(head.nla_len));
        }
    }
    EXPECT_EQ(found, kQps);
    // The other device has no objects: the answer has no table, not even an empty one.
    EXPECT_EQ(ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, device(1))).size(),
              1U);
}

TEST(RdmaNetlink, WhatADeadProcessLeftIsNotShown) {
    const shm::TestArena fabric;
    make_qps(fabric.arena, 3);
    fabric.arena.procs[0].state = shm::ProcState::kDead;
    EXPECT_EQ(ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, device(0))).size(),
              1U);
    EXPECT_EQ(ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP, device(0))).size(),
              1U);
}

TEST(RdmaNetlink, ListingContextsCreatesNoPagesOfUnusedSlots) {
    const shm::TestArena fabric;
    make_qps(fabric.arena, 1);
    fabric.arena.header->procs_top = 1;
    auto& context = fabric.arena.procs[0].async_channels[shm::kAsyncChannels - 1];
    context.hca = 0;
    context.channel = 7;
    const std::string contexts = request(RDMA_NLDEV_CMD_RES_CTX_GET, NLM_F_DUMP, device(0));
    const blkcnt_t before = blocks_of(fabric.arena);
    EXPECT_EQ(ask(fabric.arena, contexts).size(), 2U);
    EXPECT_EQ(blocks_of(fabric.arena), before);
}

TEST(RdmaNetlink, OneResourceIsFoundByItsNumber) {
    const shm::TestArena fabric;
    make_qps(fabric.arena, 3);
    shm::AttributeList wanted = device(0);
    wanted.put_number(RDMA_NLDEV_ATTR_RES_LQPN, std::uint32_t{0x102});
    const auto all = ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_QP_GET, 0, wanted));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].attributes().number(RDMA_NLDEV_ATTR_RES_RQPN), 0x902U);
    EXPECT_EQ(all[0].attributes().number(RDMA_NLDEV_ATTR_RES_SQ_PSN), 5U);
    shm::AttributeList domain = device(0);
    domain.put_number(RDMA_NLDEV_ATTR_RES_PDN, std::uint32_t{42});
    const Received pd = ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_PD_GET, 0, domain)).at(0);
    EXPECT_EQ(pd.attributes().number(RDMA_NLDEV_ATTR_RES_USECNT), 3U);
}

TEST(RdmaNetlink, ListenerWithoutADeviceIsOnAllOfItsHost) {
    const shm::TestArena fabric;
    CmEndpoint listener{.host = 0, .pid = 7};
    listener.endpoint.handle = 3;
    listener.endpoint.state = cm::Host::Endpoint::kListen;
    listener.endpoint.space = cm::PortSpace::kTcp;
    CmEndpoint other = listener;
    other.host = 1;
    CmEndpoint idle = listener;
    idle.endpoint.state = cm::Host::Endpoint::kIdle;
    for (const std::uint32_t index : {0U, 1U}) {
        const auto all =
            ask(fabric.arena, request(RDMA_NLDEV_CMD_RES_CM_ID_GET, NLM_F_DUMP, device(index)),
                {listener, other, idle});
        ASSERT_EQ(all.size(), 2U) << index;
        const std::string_view table = all[0].attributes().bytes(RDMA_NLDEV_ATTR_RES_CM_ID);
        const auto entry = shm::Attributes::parse(table.substr(sizeof(nlattr)));
        EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_RES_PS), 0x106U);
        EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_RES_CM_IDN), 3U);
        EXPECT_EQ(entry->number(RDMA_NLDEV_ATTR_RES_PID), 7U);
    }
}

}  // namespace
}  // namespace softib::daemon
