#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""iproute2's rdma, unmodified: devices, links, resources of programs at work, statistics; on
InfiniBand and Ethernet. It asks the kernel by netlink, here the daemon."""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, free_port, listening, loopback_net, need_programs
from subnet import expect

CLASS = "/sys/class/infiniband"
DEVICES = ["mlx5_0", "mlx5_1"]
PINGPONG = "ibv_rc_pingpong"

# Netlink as ordinary programs use it: addresses, options, blocking and polling.
SOCKETS = """
import fcntl, os, select, socket, struct
NETLINK_RDMA, GET_ALL = 20, struct.pack('=IHHII', 16, 5 << 10 | 1, 0x301, 9, 0)
def opened(*flags):
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
one, two = opened(), opened()
assert one.getsockname() == (os.getpid(), 0), one.getsockname()
assert two.getsockname()[0] not in (0, os.getpid())
one.bind((0, 1)), two.bind((4711, 0))
assert two.getsockname() == (4711, 0)
try:
    opened().bind((4711, 0))
    raise SystemExit('an address was given twice')
except OSError as error:
    assert error.errno == 98, error
assert one.getsockopt(socket.SOL_SOCKET, 39) == socket.AF_NETLINK  # SO_DOMAIN
assert one.getsockopt(socket.SOL_SOCKET, 38) == NETLINK_RDMA  # SO_PROTOCOL
one.setsockopt(270, 1, 4)  # SOL_NETLINK, NETLINK_ADD_MEMBERSHIP
copy = os.dup(two.fileno())
fcntl.fcntl(two, fcntl.F_SETFL, os.O_NONBLOCK)
try:
    two.recv(4096)
    raise SystemExit('an answer before the question')
except BlockingIOError:
    pass
assert not select.select([two], [], [], 0)[0]
two.sendto(GET_ALL, (0, 0))  # The answer is there when it returns.
assert two.recv(0, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b''
assert select.select([copy], [], [], 0)[0]
assert len(two.recv(16, socket.MSG_PEEK)) == 16
data, control, flags, sender = two.recvmsg(4096)
assert sender == (0, 0), sender
assert struct.unpack_from('=I', data, 12)[0] == 4711
data, sender = one.sendto(GET_ALL, (0, 0)) and one.recvfrom(4096)
assert sender == (0, 0) and b'mlx5_1' in data
other = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)  # NETLINK_ROUTE stays the kernel's.
other.bind((0, 0))
assert other.getsockopt(socket.SOL_SOCKET, 38) == 0
"""

INDICES = """
import ctypes
verbs = ctypes.CDLL('libibverbs.so.1')
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_get_device_name.restype = ctypes.c_char_p
count = ctypes.c_int()
devices = verbs.ibv_get_device_list(ctypes.byref(count))
for i in range(count.value):
    device = ctypes.c_void_p(devices[i])
    print(verbs.ibv_get_device_name(device).decode(), verbs.ibv_get_device_index(device))
"""


class Tool:
    def __init__(self, fabric):
        self.fabric = fabric

    def rdma(self, *words, host="h0"):
        return self.fabric.run(host, ["rdma", *words]).check().output

    def json(self, *words, host="h0"):
        return json.loads(self.rdma("-j", *words, host=host))

    def read(self, path, host="h0"):
        return self.fabric.run(host, ["cat", f"{CLASS}/{path}"]).check().output.strip()

    def devices(self):
        shown = self.json("dev", "show")
        expect([one["ifname"] for one in shown] == DEVICES, shown)
        for index, one in enumerate(shown):
            expect(
                one["ifindex"] == index and one["node_type"] == "ca" and one["fw"] == "1.0.0", one)
            for key in ("node_guid", "sys_image_guid"):
                expect(one[key] == self.read(f"{one['ifname']}/{key}"), one)
        expect(self.json("dev", "show", "mlx5_1")[0]["ifindex"] == 1, "mlx5_1")
        expect(self.json("dev")[0]["node_guid"] != self.json("dev", host="h1")[0]["node_guid"],
               "both hosts have the same device")
        text = self.rdma("dev")
        expect(text.startswith("0: mlx5_0: node_type ca fw 1.0.0 node_guid "), text)
        return text

    def indices(self):
        shown = self.fabric.run("h0", ["/usr/bin/python3", "-c", INDICES]).check().output
        expected = [f"{one['ifname']} {one['ifindex']}" for one in self.json("dev")]
        expect(shown.splitlines() == expected, shown)

    def links(self):
        shown = self.json("link")
        expect([one["ifname"] for one in shown] == DEVICES, shown)
        for one in shown:
            port = f"{one['ifname']}/ports/1"
            expect(one["port"] == 1 and one["state"] == "ACTIVE", one)
            expect(one["physical_state"] == "LINK_UP" and "netdev" not in one, one)
            expect(one["lid"] == int(self.read(f"{port}/lid"), 16), one)
            expect(one["sm_lid"] == int(self.read(f"{port}/sm_lid"), 16), one)
            prefix = self.read(f"{port}/gids/0")[:19]
            expect(one["subnet_prefix"] == prefix, one)
        detailed = self.rdma("-d", "link", "show", "mlx5_0/1")
        expect("caps: <" in detailed and "TRAP" in detailed, detailed)
        return detailed

    def link_goes_down(self):
        self.fabric.command("link", "-f", self.fabric.name, "down", "h0/mlx5_1").check()
        down = self.json("link", "show", "mlx5_1/1")[0]
        self.fabric.command("link", "-f", self.fabric.name, "up", "h0/mlx5_1").check()
        expect(down["state"] == "DOWN" and down["physical_state"] == "POLLING", down)

    def waiting_pingpong(self):
        port = free_port()
        server = self.fabric.start("h0", [PINGPONG, "-d", "mlx5_1", "-p", str(port)])
        server.wait_until(lambda: listening(port), "listening")
        return server

    def end(self, *programs):
        for program in programs:
            program.signal(signal.SIGTERM)
            program.wait(0)
            self.fabric.programs.remove(program)

    def resources(self):
        """The objects of a program that waits for its peer: one of each kind, and only on its own
        device."""
        before = self.json("res")
        expect(all(one[kind] == 0 for one in before
                   for kind in ("pd", "cq", "qp", "mr", "ctx", "srq")), before)
        server = self.waiting_pingpong()
        try:
            counts = {one["ifname"]: one for one in self.json("res", "show")}
            expect(counts["mlx5_0"]["qp"] == 0 and counts["mlx5_0"]["ctx"] == 0, counts)
            for kind in ("pd", "cq", "qp", "mr", "ctx"):
                expect(counts["mlx5_1"][kind] == 1, counts)
                shown = self.json("res", "show", kind)
                expect(len(shown) == 1 and shown[0]["ifname"] == "mlx5_1", shown)
                expect(shown[0]["comm"] == PINGPONG and shown[0]["pid"] > 0, shown)
            expect(not self.json("res", "show", "qp", host="h1"), "h1 has a queue pair of h0")
            qp = self.json("res", "show", "qp", "link", "mlx5_1/1")[0]
            expect(qp["type"] == "RC" and qp["state"] == "INIT" and qp["port"] == 1, qp)
            pd, cq, mr, ctx = (self.json("res", "show", kind)[0]
                               for kind in ("pd", "cq", "mr", "ctx"))
            expect(qp["pdn"] == pd["pdn"] == mr["pdn"] and pd["users"] == 2, (qp, pd, mr))
            expect(cq["users"] == 2 and cq["cqe"] >= 500 and cq["ctxn"] == ctx["ctxn"], (cq, ctx))
            expect(mr["mrlen"] == 4096, mr)
            found = self.json("res", "show", "qp", "link", "mlx5_1/1", "lqpn", str(qp["lqpn"]))
            expect([one["lqpn"] for one in found] == [qp["lqpn"]], found)
            expect(not self.json("res", "show", "qp", "link", "mlx5_1/1", "type", "UD"), "filter")
        finally:
            self.end(server)
        after = self.json("res")
        expect(after == before, after)

    def connection(self):
        """Endpoints that listen and are connected, and queue pairs that name each other."""
        address = next(
            port["address"] for port in json.loads(self.fabric.command(
                "addr", "-f", self.fabric.name, "--json").check().output)["ports"]
            if port["host"] == "h1")
        port = str(free_port())
        server = self.fabric.start("h1", ["rping", "-s", "-a", address, "-p", port])
        client = None
        try:
            self.listener(server, address, port)
            client = self.fabric.start("h0", ["rping", "-c", "-a", address, "-p", port])
            return self.connected(client, f"{address}:{port}")
        finally:
            self.end(*filter(None, (client, server)))

    def listener(self, server, address, port):
        states = lambda: [one["state"] for one in self.json("res", "show", "cm_id", host="h1")]
        server.wait_until(lambda: states() == ["LISTEN"], "listening")
        listener = self.json("res", "show", "cm_id", host="h1")[0]
        expect(listener["ps"] == "TCP" and listener["comm"] == "rping", listener)
        expect(listener["src-addr"] == f"{address}:{port}", listener)

    def connected(self, client, place):
        found = lambda host: [one for one in self.json("res", "show", "cm_id", host=host)
                              if one["state"] == "CONNECT" and one.get("lqpn")]
        client.wait_until(lambda: found("h0") and found("h1"), "a connection")
        ours, theirs = found("h0")[0], found("h1")[0]
        expect(ours["dst-addr"] == theirs["src-addr"] == place, (ours, theirs))
        expect(ours["qp-type"] == theirs["qp-type"] == "RC", (ours, theirs))
        qp_of = lambda host, one: next(qp for qp in self.json("res", "show", "qp", host=host)
                                       if qp["lqpn"] == one["lqpn"])
        client.wait_until(lambda: qp_of("h1", theirs)["state"] == "RTS", "the server's RTS")
        one, other = qp_of("h0", ours), qp_of("h1", theirs)
        expect(one["state"] == "RTS", one)
        expect(one["rqpn"] == other["lqpn"] and other["rqpn"] == one["lqpn"], (one, other))
        expect(one["sq-psn"] == other["rq-psn"] and other["sq-psn"] == one["rq-psn"], (one, other))
        return f"{one}\n{other}"

    def many(self):
        """An answer that is longer than a datagram."""
        port = free_port()
        server = self.fabric.start("h0", ["ib_write_bw", "-q", "300", "-p", str(port)])
        server.wait_until(lambda: listening(port), "listening")
        client = self.fabric.start("h1", ["ib_write_bw", "-q", "300", "-p", str(port), "-D", "60",
                                          "localhost"])
        try:
            client.wait_until(lambda: len(self.json("res", "show", "qp")) == 300, "300 queue pairs")
            numbers = [qp["lqpn"] for qp in self.json("res", "show", "qp")]
            expect(len(set(numbers)) == 300, numbers)
        finally:
            self.end(client, server)

    def statistics(self):
        shown = self.json("statistic", "show", "link", "mlx5_0/1")[0]
        folder = "mlx5_0/ports/1/hw_counters"
        for name in self.fabric.run("h0", ["ls", f"{CLASS}/{folder}"]).check().output.split():
            expect(str(shown[name]) == self.read(f"{folder}/{name}"), shown)
        return shown

    def system(self):
        text = self.rdma("system")
        expect("netns shared" in text and "copy-on-fork on" in text, text)

    def refused(self):
        for words in (["dev", "set", "mlx5_0", "name", "x"], ["link", "add", "x", "type", "rxe",
                                                              "netdev", "lo"]):
            result = self.fabric.run("h0", ["rdma", *words])
            expect(result.status != 0 and "not supported" in result.output, result)
        result = self.fabric.run("h0", ["rdma", "dev", "show", "mlx5_7"])
        expect(result.status != 0 and "Wrong device name" in result.output, result)

    def sockets(self):
        return self.fabric.run("h0", ["/usr/bin/python3", "-c", SOCKETS]).check()


def ethernet(report):
    # Fabrics of tests that run side by side need addresses of their own.
    base = f"127.{loopback_net()}.0.0"
    with Fabric("--hosts", "2", "--link-layer", "ethernet", "--roce-address-base", base) as fabric:
        tool = Tool(fabric)

        def links():
            shown = tool.json("link")[0]
            expect(shown["state"] == "ACTIVE" and "lid" not in shown, shown)
            expect(shown["netdev"] == tool.read(f"{shown['ifname']}/ports/1/gid_attrs/ndevs/0"),
                   shown)
            return shown

        report.case("rdma, Ethernet", "link", links)


def main():
    report = Report("rdma_tool")
    need_programs("rdma", PINGPONG, "rping", "ib_write_bw")
    with Fabric("--hosts", "2", "--hcas", "2") as fabric:
        tool = Tool(fabric)
        for title, action in (
            ("dev", tool.devices),
            ("ibv_get_device_index is its ifindex", tool.indices),
            ("link", tool.links),
            ("link, pulled", tool.link_goes_down),
            ("res show pd, cq, qp, mr, ctx", tool.resources),
            ("res show cm_id, qp of a connection", tool.connection),
            ("res show qp, 300 of them", tool.many),
            ("statistic", tool.statistics),
            ("system", tool.system),
            ("what cannot be set", tool.refused),
            ("sockets of NETLINK_RDMA", tool.sockets),
        ):
            report.case("rdma", title, action)
    ethernet(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
