// SPDX-License-Identifier: BSD-2-Clause
// Endpoints of a host: addresses, ports, datagram services, groups.
#include <gtest/gtest.h>

#include "core/cm/test_pair.h"

namespace softib::cm {
namespace {

/// Returns a new endpoint with an option set.
IdHandle create_with(TestPair& pair, TestHost& host, IdOption which) {
    const IdHandle id = pair.create(host);
    Command option = pair.command(Operation::kSetOption, id);
    option.option = static_cast<std::uint32_t>(which);
    option.value = 1;
    EXPECT_EQ(pair.execute(host, option).status, 0);
    return id;
}

TEST(CmAddress, HeaderIsReadAsWritten) {
    std::array<std::uint8_t, kIpHeaderBytes> bytes{};
    write_ip_header({with_port(ip4(10, 0, 0, 1), 1234), ip4(10, 0, 0, 2)}, bytes);
    const auto header = read_ip_header(bytes, service_id(PortSpace::kTcp, kPort));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->source, with_port(ip4(10, 0, 0, 1), 1234));
    EXPECT_EQ(header->destination, with_port(ip4(10, 0, 0, 2), kPort));
    EXPECT_EQ(service_id(PortSpace::kTcp, kPort), 0x01060000U + kPort);
    bytes[1] = 0x50;
    EXPECT_FALSE(read_ip_header(bytes, 0));
}

TEST(CmAddress, GroupsHaveTheirGid) {
    EXPECT_EQ(to_string(multicast_gid(ip4(239, 1, 2, 3), PortSpace::kUdp, PKey{0xFFFF})),
              "ff12:4001:ffff:0000:0000:0000:0f01:0203");
    EXPECT_EQ(to_string(multicast_gid(ip4(239, 1, 2, 3), PortSpace::kIpoib, PKey{0x8001})),
              "ff12:401b:8001:0000:0000:0000:0f01:0203");
}

/// A program may tell its own address to a program on another host, so it must not be a loopback
/// address.
TEST(CmHost, TheMachinesLoopbackBecomesThePortsAddress) {
    TestPair pair;
    Command bind = pair.command(Operation::kBind, pair.create(pair.a));
    bind.source = with_port(ip4(127, 0, 0, 1), kPort);
    EXPECT_EQ(pair.execute(pair.a, bind).info.source, with_port(ip4(10, 0, 0, 1), kPort));

    Address loopback6;
    loopback6.family = Family::kIp6;
    loopback6.bytes.bytes[15] = 1;
    bind.id = pair.create(pair.a);
    bind.source = loopback6;
    const IdInfo info = pair.execute(pair.a, bind).info;
    EXPECT_EQ(info.source.family, Family::kIp6);
    EXPECT_EQ(info.source.bytes, info.source_gid);
}

TEST(CmHost, APortIsOneEndpointsPerSpace) {
    TestPair pair;
    const Address at = with_port(ip4(0, 0, 0, 0), kPort);
    const IdHandle first = pair.create(pair.a);
    EXPECT_EQ(pair.bind(pair.a, first, at), 0);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), at), EADDRINUSE);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), with_port(ip4(10, 0, 0, 1), kPort)),
              EADDRINUSE);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a, PortSpace::kUdp, QpType::kUd), at), 0);
    EXPECT_EQ(pair.bind(pair.b, pair.create(pair.b), at), 0);
    pair.simple(pair.a, Operation::kDestroyId, first);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), at), 0);
}

TEST(CmHost, APortMayBeSharedUntilOneListens) {
    TestPair pair;
    const auto shared = [&pair] { return create_with(pair, pair.a, IdOption::kReuseAddr); };
    const Address at = with_port(ip4(0, 0, 0, 0), kPort);
    const IdHandle first = shared();
    const IdHandle second = shared();
    EXPECT_EQ(pair.bind(pair.a, first, at), 0);
    EXPECT_EQ(pair.bind(pair.a, second, at), 0);
    EXPECT_EQ(pair.listen(pair.a, first), 0);
    EXPECT_EQ(pair.listen(pair.a, second), EADDRINUSE);
    EXPECT_EQ(pair.bind(pair.a, shared(), at), EADDRINUSE);
}

/// A server for both families has a listener for each, as it would have sockets (IPV6_V6ONLY).
TEST(CmHost, APortIsOneListenersPerFamilyWhereIp6IsAlone) {
    TestPair pair;
    be_polite(pair);
    const IdHandle listener4 = pair.listener(pair.b, kPort);
    Address any6;
    any6.family = Family::kIp6;
    any6 = with_port(any6, kPort);
    EXPECT_EQ(pair.bind(pair.b, pair.create(pair.b), any6), EADDRINUSE);

    const auto alone = [&pair] { return create_with(pair, pair.b, IdOption::kAfOnly); };
    const IdHandle listener6 = alone();
    EXPECT_EQ(pair.bind(pair.b, listener6, any6), 0);
    EXPECT_EQ(pair.listen(pair.b, listener6), 0);
    EXPECT_EQ(pair.bind(pair.b, alone(), any6), EADDRINUSE);

    EXPECT_EQ(pair.connect(pair.a, pair.resolved(pair.a, pair.b, kPort)), 0);
    ASSERT_EQ(pair.b.count(EventType::kConnectRequest), 1U);
    EXPECT_EQ(pair.b.last(EventType::kConnectRequest)->listener, listener4);
}

TEST(CmHost, OnlyOwnAddressesCanBeBound) {
    TestPair pair;
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), ip4(10, 0, 0, 2)), EADDRNOTAVAIL);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), ip4(192, 168, 0, 1)), EADDRNOTAVAIL);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), ip4(127, 0, 0, 1)), 0);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), ip4(10, 0, 0, 1)), 0);
    EXPECT_EQ(pair.bind(pair.a, pair.create(pair.a), Address{}), EAFNOSUPPORT);
}

TEST(CmHost, UnknownAddressIsAnEvent) {
    TestPair pair;
    Command resolve = pair.command(Operation::kResolveAddr, pair.create(pair.a));
    resolve.destination = with_port(ip4(192, 168, 0, 1), kPort);
    EXPECT_EQ(pair.execute(pair.a, resolve).status, 0);
    ASSERT_EQ(pair.a.count(EventType::kAddrError), 1U);
    EXPECT_EQ(pair.a.last(EventType::kAddrError)->status, -EHOSTUNREACH);

    resolve = pair.command(Operation::kResolveAddr, pair.create(pair.a));
    resolve.destination.family = Family::kIp6;
    resolve.destination.bytes = pair.b.surroundings.port(0).gid;
    resolve.destination.bytes.bytes[7] ^= 1;  // The prefix of another subnet.
    pair.execute(pair.a, resolve);
    EXPECT_EQ(pair.a.count(EventType::kAddrError), 2U);
}

TEST(CmHost, GidThatOnlyTheManagerKnowsIsAnAddress) {
    TestPair pair;
    be_polite(pair);
    Command resolve = pair.command(Operation::kResolveAddr, pair.create(pair.a));
    const IdHandle id = resolve.id;
    resolve.destination.family = Family::kIp6;
    resolve.destination.bytes = pair.b.surroundings.port(0).gid;
    resolve.destination = with_port(resolve.destination, kPort);
    const IdHandle listener = pair.create(pair.b);
    Address any;
    any.family = Family::kIp6;
    ASSERT_EQ(pair.bind(pair.b, listener, with_port(any, kPort)), 0);
    ASSERT_EQ(pair.listen(pair.b, listener), 0);
    ASSERT_FALSE(pair.a.surroundings.find_port(resolve.destination));
    pair.execute(pair.a, resolve);
    EXPECT_EQ(pair.a.count(EventType::kAddrResolved), 1U);
    Command route = pair.command(Operation::kResolveRoute, id);
    route.timeout_ms = 1000;
    pair.execute(pair.a, route);
    EXPECT_EQ(pair.connect(pair.a, id), 0);
    EXPECT_EQ(pair.b.count(EventType::kEstablished), 1U);
}

TEST(CmHost, ConnectsToItself) {
    TestPair pair;
    be_polite(pair);
    pair.listener(pair.a, kPort);
    const IdHandle id = pair.create(pair.a);
    Command resolve = pair.command(Operation::kResolveAddr, id);
    resolve.destination = with_port(ip4(127, 0, 0, 1), kPort);
    pair.execute(pair.a, resolve);
    Command route = pair.command(Operation::kResolveRoute, id);
    route.timeout_ms = 1000;
    pair.execute(pair.a, route);
    EXPECT_EQ(pair.connect(pair.a, id), 0);
    EXPECT_EQ(pair.a.count(EventType::kEstablished), 1U);
}

TEST(CmHost, BacklogTurnsTheRestAway) {
    TestPair pair;
    const IdHandle listener = pair.create(pair.b);
    pair.bind(pair.b, listener, with_port(ip4(0, 0, 0, 0), kPort));
    pair.listen(pair.b, listener, 2);
    for (int i = 0; i < 3; ++i) {
        pair.connect(pair.a, pair.resolved(pair.a, pair.b, kPort));
    }
    EXPECT_EQ(pair.b.count(EventType::kConnectRequest), 2U);
    EXPECT_EQ(pair.a.count(EventType::kRejected), 1U);
    // The answer to one request makes room in the backlog.
    pair.accept(pair.b, pair.b.last(EventType::kConnectRequest)->id);
    pair.connect(pair.a, pair.resolved(pair.a, pair.b, kPort));
    EXPECT_EQ(pair.b.count(EventType::kConnectRequest), 3U);
}

TEST(CmHost, AServiceIsFoundByItsQueuePair) {
    TestPair pair;
    be_polite(pair);
    pair.listener(pair.b, kPort, PortSpace::kUdp, QpType::kUd);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort, PortSpace::kUdp, QpType::kUd);
    EXPECT_EQ(pair.connect(pair.a, id, 5), 0);
    const Event* const request = pair.b.last(EventType::kConnectRequest);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->parameters.private_data_bytes, 180);
    EXPECT_EQ(request->parameters.private_data[0], 5);
    const Event* const found = pair.a.last(EventType::kEstablished);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->parameters.qpn, Qpn{500 + request->id});
    EXPECT_EQ(found->parameters.qkey, kUdpQKey);
    EXPECT_EQ(found->destination.dlid, Lid{2});
}

TEST(CmHost, ALostQuestionIsAskedAgainAndAnsweredOnce) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        TestPair pair(seed);
        be_polite(pair);
        pair.listener(pair.b, kPort, PortSpace::kUdp, QpType::kUd);
        const IdHandle id = pair.resolved(pair.a, pair.b, kPort, PortSpace::kUdp, QpType::kUd);
        pair.lose_percent = 30;
        pair.double_percent = 30;
        pair.connect(pair.a, id);
        pair.run_for(kMinute);
        EXPECT_EQ(pair.a.count(EventType::kEstablished) + pair.a.count(EventType::kUnreachable),
                  1U);
        EXPECT_LE(pair.b.count(EventType::kConnectRequest), 1U);
    }
}

TEST(CmHost, APortLeavesAGroupWithItsLastMember) {
    TestPair pair;
    const auto member = [&pair] {
        const IdHandle id = pair.create(pair.a, PortSpace::kUdp, QpType::kUd);
        pair.bind(pair.a, id, ip4(10, 0, 0, 1));
        Command join = pair.command(Operation::kJoin, id);
        join.destination = ip4(239, 1, 2, 3);
        EXPECT_EQ(pair.execute(pair.a, join).status, 0);
        return id;
    };
    const IdHandle first = member();
    const IdHandle second = member();
    ASSERT_EQ(pair.a.count(EventType::kMulticastJoin), 2U);
    EXPECT_EQ(pair.a.last(EventType::kMulticastJoin)->destination.dlid, Lid{0xC001});
    EXPECT_EQ(pair.a.last(EventType::kMulticastJoin)->parameters.qpn, kQpnMulticast);
    pair.simple(pair.a, Operation::kDestroyId, first);
    pair.drive();
    EXPECT_EQ(pair.leaves, 0U);
    Command leave = pair.command(Operation::kLeave, second);
    leave.value = pair.a.last(EventType::kMulticastJoin)->join;
    EXPECT_EQ(pair.execute(pair.a, leave).status, 0);
    EXPECT_EQ(pair.leaves, 1U);
    EXPECT_EQ(pair.execute(pair.a, leave).status, EADDRNOTAVAIL);
}

/// A program gets a reply to any command.
TEST(CmHost, RandomCommandsHurtNobody) {
    TestPair pair(7);
    for (int i = 0; i < 20000; ++i) {
        TestHost& on = pair.prng.chance(1, 2) ? pair.a : pair.b;
        Command command = pair.command(static_cast<Operation>(pair.prng.below(20)),
                                       static_cast<IdHandle>(pair.prng.below(40)));
        command.port_space = pair.prng.chance(1, 2) ? PortSpace::kTcp : PortSpace::kUdp;
        command.qp_type = command.port_space == PortSpace::kTcp ? QpType::kRc : QpType::kUd;
        command.value = static_cast<std::uint32_t>(pair.prng.below(40));
        command.option = static_cast<std::uint32_t>(pair.prng.below(5));
        command.timeout_ms = 100;
        command.parameters.private_data_bytes = static_cast<std::uint16_t>(pair.prng.below(300));
        const auto number = static_cast<std::uint8_t>(1 + pair.prng.below(2));
        command.source = pair.prng.chance(1, 2) ? ip4(10, 0, 0, number) : Address{};
        command.destination =
            with_port(pair.prng.chance(1, 5) ? ip4(239, 0, 0, number) : ip4(10, 0, 0, number),
                      static_cast<std::uint16_t>(pair.prng.below(3)));
        pair.execute(on, command);
        if (i % 100 == 0) {
            pair.run_for(kMinute / 60);
        }
    }
    for (TestHost* each : {&pair.a, &pair.b}) {
        for (IdHandle id = 0; id < 40000; ++id) {
            each->host.execute(pair.command(Operation::kDestroyId, id), pair.now_ns);
        }
        EXPECT_EQ(each->host.ids(), 0U);
    }
    pair.run_for(5 * kMinute);
    EXPECT_EQ(pair.a.host.connections().size() + pair.b.host.connections().size(), 0U);
}

}  // namespace
}  // namespace softib::cm
