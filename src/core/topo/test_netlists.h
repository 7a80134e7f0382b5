// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For the tests of netlists: small fabrics in the form of real dumps, and the comparison of two
// graphs.

#include <gtest/gtest.h>

#include <string>

#include "core/topo/netlist.h"

namespace softib::topo {

/// A dump with every kind of line: two unmanaged switches, a managed one, hosts of several kinds,
/// and a router.
inline constexpr char kDump[] =
    "#\n"
    "# Topology file: generated on Mon Mar  3 12:00:00 2025\n"
    "#\n"
    "# Initiated from node 0c42a10300aa0010 port 0c42a10300aa0010\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0xd2f0\n"
    "sysimgguid=0xc42a10300bb0000\n"
    "switchguid=0xc42a10300bb0000(c42a10300bb0000)\n"
    "Switch\t41 \"S-0c42a10300bb0000\"\t\t# \"MF0;leaf01:MQM8700/U1\" enhanced port 0 lid 2 lmc 0\n"
    "[1]\t\"H-0c42a10300aa0010\"[1](c42a10300aa0010) \t\t# \"node001 mlx5_0\" lid 1 4xHDR\n"
    "[2]\t\"H-0c42a10300aa0020\"[1](c42a10300aa0020) \t\t# \"node001 mlx5_1\" lid 5 2xHDR\n"
    "[3]\t\"H-0002c90300cc0000\"[1](2c90300cc0001) \t\t# \"node002 HCA-1\" lid 6 4xFDR10\n"
    "[39]\t\"S-0c42a10300bb1000\"[1]\t\t# \"Quantum Mellanox Technologies\" lid 3 4xEDR\n"
    "[40]\t\"S-0c42a10300bb2000\"[1]\t\t# \"Quantum Mellanox Technologies\" lid 4 4xHDR\n"
    "[41]\t\"H-0c42a10300bb0008\"[1](c42a10300bb0008) \t\t"
    "# \"Mellanox Technologies Aggregation Node\" lid 9 4xHDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0xd2f0\n"
    "sysimgguid=0xc42a10300bb1000\n"
    "switchguid=0xc42a10300bb1000(c42a10300bb1000)\n"
    "Switch\t40 \"S-0c42a10300bb1000\"\t\t"
    "# \"Quantum Mellanox Technologies\" base port 0 lid 3 lmc 0\n"
    "[1]\t\"S-0c42a10300bb0000\"[39]\t\t# \"MF0;leaf01:MQM8700/U1\" lid 2 4xEDR\n"
    "[2]\t\"S-0c42a10300bb2000\"[2]\t\t# \"Quantum Mellanox Technologies\" lid 4 1xSDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0xd2f0\n"
    "sysimgguid=0xc42a10300bb2000\n"
    "switchguid=0xc42a10300bb2000(c42a10300bb2000)\n"
    "Switch\t40 \"S-0c42a10300bb2000\"\t\t"
    "# \"Quantum Mellanox Technologies\" base port 0 lid 4 lmc 2\n"
    "[1]\t\"S-0c42a10300bb0000\"[40]\t\t# \"MF0;leaf01:MQM8700/U1\" lid 2 4xHDR\n"
    "[2]\t\"S-0c42a10300bb1000\"[2]\t\t# \"Quantum Mellanox Technologies\" lid 3 1xSDR\n"
    "[7]\t\"H-0002c90300cc0000\"[2](2c90300cc0002) \t\t# \"node002 HCA-1\" lid 7 12xDDR\n"
    "[8]\t\"R-0002c90300dd0000\"[2](2c90300dd0002) \t\t# \"sky \"the\" router\" lid 8 8xQDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0x1003\n"
    "sysimgguid=0x2c90300cc0003\n"
    "caguid=0x2c90300cc0000\n"
    "Ca\t2 \"H-0002c90300cc0000\"\t\t# \"node002 HCA-1\"\n"
    "[1](2c90300cc0001) \t\"S-0c42a10300bb0000\"[3]\t\t"
    "# lid 6 lmc 1 \"MF0;leaf01:MQM8700/U1\" lid 2 4xFDR10\n"
    "[2](2c90300cc0002) \t\"S-0c42a10300bb2000\"[7]\t\t"
    "# lid 7 lmc 1 \"Quantum Mellanox Technologies\" lid 4 12xDDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0x101b\n"
    "sysimgguid=0xc42a10300aa0010\n"
    "caguid=0xc42a10300aa0010\n"
    "Ca\t1 \"H-0c42a10300aa0010\"\t\t# \"node001 mlx5_0\"\n"
    "[1](c42a10300aa0010) \t\"S-0c42a10300bb0000\"[1]\t\t"
    "# lid 1 lmc 0 \"MF0;leaf01:MQM8700/U1\" lid 2 4xHDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0x101b\n"
    "sysimgguid=0xc42a10300aa0010\n"
    "caguid=0xc42a10300aa0020\n"
    "Ca\t1 \"H-0c42a10300aa0020\"\t\t# \"node001 mlx5_1\"\n"
    "[1](c42a10300aa0020) \t\"S-0c42a10300bb0000\"[2]\t\t"
    "# lid 5 lmc 0 \"MF0;leaf01:MQM8700/U1\" lid 2 2xHDR\n"
    "\n"
    "vendid=0x2c9\n"
    "devid=0xcf09\n"
    "sysimgguid=0xc42a10300bb0000\n"
    "caguid=0xc42a10300bb0008\n"
    "Ca\t1 \"H-0c42a10300bb0008\"\t\t# \"Mellanox Technologies Aggregation Node\"\n"
    "[1](c42a10300bb0008) \t\"S-0c42a10300bb0000\"[41]\t\t"
    "# lid 9 lmc 0 \"MF0;leaf01:MQM8700/U1\" lid 2 4xHDR\n"
    "\n"
    "vendid=0x8f1\n"
    "devid=0x5a\n"
    "sysimgguid=0x2c90300dd0000\n"
    "rtguid=0x2c90300dd0000\n"
    "Rt\t2 \"R-0002c90300dd0000\"\t\t# \"sky \"the\" router\"\n"
    "[2](2c90300dd0002) \t\"S-0c42a10300bb2000\"[8]\t\t"
    "# lid 8 lmc 0 \"Quantum Mellanox Technologies\" lid 4 8xQDR\n";

/// A netlist for ibsim as a person would write it.
inline constexpr char kHandWritten[] =
    "# A pair of switches.\n"
    "Switch\t8 \"Left\"\n"
    "[1]\t\"Alice\"\n"
    "[2]\t\"Bob\"[2]  w=8 s=3\n"
    "[8]\t\"Right\"[8]\ts=7 e=6  # the long cable\n"
    "\n"
    "Switch 8 \"Right\"\t# the one at the door\n"
    "[8]\t\"Left\"[8]\ts=7 e=3\n"
    "\n"
    "Hca\t1 \"Alice\"\n"
    "[1]\t\"Left\"[1]\n"
    "\n"
    "Hca\t2 \"Bob\"\n"
    "[2]\t\"Left\" [2] w=0xa s=7\n";

inline Fabric read_ok(std::string_view text) {
    auto fabric = read_netlist(text, "net");
    EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
    return fabric ? *fabric : Fabric{};
}

/// Expects two graphs to agree in all that a netlist holds. It does not hold levels, coordinates,
/// and the speeds of uncabled ports.
inline void expect_same_graph(const Fabric& a, const Fabric& b) {
    ASSERT_EQ(a.nodes.size(), b.nodes.size());
    ASSERT_EQ(a.hosts.size(), b.hosts.size());
    for (std::size_t h = 0; h < a.hosts.size(); ++h) {
        EXPECT_EQ(a.hosts[h].name, b.hosts[h].name);
        EXPECT_EQ(a.hosts[h].hcas, b.hosts[h].hcas);
        EXPECT_EQ(a.hosts[h].device_names, b.hosts[h].device_names);
    }
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
        const Node& x = a.nodes[i];
        const Node& y = b.nodes[i];
        SCOPED_TRACE(x.name);
        EXPECT_EQ(x.kind, y.kind);
        EXPECT_EQ(x.name, y.name);
        EXPECT_EQ(x.node_guid, y.node_guid);
        EXPECT_EQ(x.system_image_guid, y.system_image_guid);
        EXPECT_EQ(port_guid(x, PortNum{1}), port_guid(y, PortNum{1}));
        EXPECT_EQ(x.adapter.guid, y.adapter.guid);
        EXPECT_EQ(x.adapter.port, y.adapter.port);
        EXPECT_EQ(x.adapter.ports, y.adapter.ports);
        EXPECT_EQ(description_of(a, x), description_of(b, y));
        EXPECT_EQ(x.vendor_id, y.vendor_id);
        EXPECT_EQ(x.device_id, y.device_id);
        EXPECT_EQ(x.lid, y.lid);
        EXPECT_EQ(x.lmc, y.lmc);
        EXPECT_EQ(x.enhanced_port_0, y.enhanced_port_0);
        EXPECT_EQ(x.host, y.host);
        ASSERT_EQ(x.ports.size(), y.ports.size());
        for (std::size_t port = 0; port < x.ports.size(); ++port) {
            ASSERT_EQ(x.ports[port].peer, y.ports[port].peer) << "port " << port;
            if (x.ports[port].peer != kNoNode) {
                EXPECT_EQ(x.ports[port].peer_port, y.ports[port].peer_port) << "port " << port;
                EXPECT_EQ(x.ports[port].generation, y.ports[port].generation) << "port " << port;
                EXPECT_EQ(x.ports[port].width, y.ports[port].width) << "port " << port;
            }
        }
    }
}

}  // namespace softib::topo
