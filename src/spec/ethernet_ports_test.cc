// SPDX-License-Identifier: BSD-2-Clause
#include "spec/ethernet_ports.h"

#include <gtest/gtest.h>

#include "core/topo/spec.h"
#include "core/wire/packet/roce.h"

namespace softib::spec {
namespace {

topo::Fabric two_hosts() {
    return topo::generate({.hosts = 2, .hcas_per_host = 2}).value();
}

std::string refusal(const EthernetPlan& plan) {
    const auto ports = plan_ethernet_ports(two_hosts(), plan);
    return ports ? "" : ports.error();
}

TEST(EthernetPorts, EachHasAnAddressOfItsOwn) {
    const auto ports = plan_ethernet_ports(two_hosts(), {.base = "127.70.254.0", .addresses = ""});
    ASSERT_TRUE(ports) << ports.error();
    ASSERT_EQ(ports->size(), 4U);
    EXPECT_EQ((*ports)[0].gid, wire::ipv4_gid(0x7F46FE01));
    EXPECT_EQ((*ports)[1].gid, wire::ipv4_gid(0x7F46FE02));
    EXPECT_EQ((*ports)[2].gid, wire::ipv4_gid(0x7F46FF01));
    EXPECT_EQ((*ports)[3].gid, wire::ipv4_gid(0x7F46FF02));
    EXPECT_EQ((*ports)[0].mtu_code, 5);  // A loopback interface takes 4096 bytes.
    EXPECT_EQ((*ports)[0].net_name, "lo");
    EXPECT_NE((*ports)[0].net_interface, 0U);
}

TEST(EthernetPorts, AddressesMayBeGiven) {
    const auto ports =
        plan_ethernet_ports(two_hosts(), {.addresses = "127.80.0.9=h1,127.80.0.7=h0/mlx5_1"});
    ASSERT_TRUE(ports) << ports.error();
    EXPECT_EQ((*ports)[0].gid, wire::ipv4_gid(0x7F370001));
    EXPECT_EQ((*ports)[1].gid, wire::ipv4_gid(0x7F500007));
    EXPECT_EQ((*ports)[2].gid, wire::ipv4_gid(0x7F500009));
}

TEST(EthernetPorts, WhatIsWrongIsSaid) {
    EXPECT_NE(refusal({.base = "here"}).find("'here'"), std::string::npos);
    EXPECT_NE(refusal({.addresses = "h0"}).find("'h0'"), std::string::npos);
    EXPECT_NE(refusal({.addresses = "first=h0"}).find("'first=h0'"), std::string::npos);
    EXPECT_NE(refusal({.addresses = "127.0.0.9=h7"}).find("of this fabric"), std::string::npos);
    EXPECT_NE(refusal({.addresses = "127.0.0.9=h0/mlx5_4"}).find("of this fabric"),
              std::string::npos);
    EXPECT_NE(refusal({.addresses = "127.0.0.8=h0,127.0.0.9=h0"}).find("'127.0.0.9=h0'"),
              std::string::npos);
    EXPECT_NE(refusal({.addresses = "127.0.0.9=h0,127.0.0.9=h1"}).find("'127.0.0.9=h1'"),
              std::string::npos);
    // The address is reserved for documentation (RFC 5737), so no interface has it.
    EXPECT_NE(refusal({.addresses = "192.0.2.77=h0"}).find("192.0.2.77"), std::string::npos);
}

}  // namespace
}  // namespace softib::spec
