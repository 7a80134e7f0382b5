#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""HCAs on Ethernet: unmodified programs over RoCEv2, in UDP datagrams on the loopback interface. A
peer that is nothing but a Python socket sees what is on the wire and computes the check sum
anew."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from roce_peer import Peer, gid_of
from softib_test import Fabric, Failure, Report, loopback_net, need_programs

# Fabrics of tests that run side by side need addresses of their own.
NET = loopback_net()
ADDRESSES = ("--link-layer", "ethernet", "--roce-address-base", f"127.{NET}.0.0")
PEER = f"127.{NET}.255.1"
DEVICE = ["-d", "mlx5_0"]

PINGPONGS = {
    "ibv_rc_pingpong": ["-c", "-e", "-c -s 1", "-c -s 65536", "-c -s 1048576 -n 20", "-m 1024",
                        "-c -m 4096", "-N"],
    "ibv_uc_pingpong": ["-c", "-e"],
    "ibv_ud_pingpong": ["-c", "-e", "-c -s 4096"],
    "ibv_srq_pingpong": ["-c"],
    "ibv_xsrq_pingpong": [""],
}
PERFTEST = [
    "ib_write_bw -s 65536 -n 500", "ib_write_bw -b -n 200", "ib_write_bw -q 4 -n 200",
    "ib_send_bw -n 500", "ib_send_bw -c UD -n 200 -s 1024", "ib_send_bw -c UC -n 200",
    "ib_send_bw -e -n 200", "ib_read_bw -n 500", "ib_atomic_bw -n 200", "ib_write_lat -n 200",
    "ib_send_lat -n 200", "ib_read_lat -n 200", "ib_atomic_lat -n 200"]


def expect(good, text):
    if not good:
        raise Failure(text)


def pingpong(fabric, program, variant):
    args = variant.split()
    results = fabric.pair("h0", "h1",
                          lambda port: [program, *DEVICE, "-p", str(port), "-g", "0", *args])
    for result in results:
        good = "success" if program == "ibv_xsrq_pingpong" else r"^\d+ iters in "
        expect(re.search(good, result.output, re.MULTILINE), str(result))
        expect("invalid data" not in result.output, str(result))
    return "\n".join(map(str, results))


def perftest(fabric, command):
    program, *args = command.split()
    results = fabric.pair("h0", "h1",
                          lambda port: [program, *DEVICE, "-p", str(port), "-x", "0", "-F", *args])
    expect("Link type       : Ethernet" in results[1].output, str(results[1]))
    return str(results[1])


def ucx(fabric, transport):
    """UCX compares the address that a datagram came to with its own, by the kind of packet that the
    completion tells. It needs no variable."""
    results = fabric.pair("h0", "h1", lambda port: [
        "env", f"UCX_TLS={transport},self", "ucx_perftest", "-f", "-n", "200", "-w", "20", "-p",
        str(port), "-t", "tag_lat"])
    for result in results:
        expect("UCX  ERROR" not in result.output and "UCX  WARN" not in result.output, str(result))
    expect(re.search(r"^ +200( +[\d.]+){3,7} *$", results[1].output, re.MULTILINE), str(results[1]))
    return str(results[1])


def show(fabric, command, *patterns):
    result = fabric.run("h0", command.split()).check()
    for pattern in patterns:
        expect(re.search(pattern, result.output, re.MULTILINE), f"expected /{pattern}/\n{result}")
    return str(result)


def without_gid(fabric):
    """The connection of a queue pair without a GID is refused."""
    try:
        fabric.pair("h0", "h1", lambda port: ["ibv_rc_pingpong", *DEVICE, "-p", str(port)])
    except Failure as failure:
        expect("Failed to modify QP to RTR" in str(failure), str(failure))
        return
    raise Failure("connected without a GID")


def on_the_wire(fabric):
    """A queue pair whose peer is a socket of ours: every datagram has the right ICRC, and what the
    socket answers is taken."""
    with Peer(PEER) as peer:
        script = str(pathlib.Path(__file__).with_name("roce_verbs.py"))
        program = fabric.start("h0", ["/usr/bin/python3", script, gid_of(PEER)])
        try:
            text = peer.converse(program)
        except (AssertionError, TimeoutError) as error:
            raise Failure(f"{error!r}\n{program.wait(0)}") from error
    return f"{text}\n{program.wait().check()}"


def taken_address(fabric):
    """A second fabric on the same addresses is refused with a hint, and the first goes on."""
    second = fabric.command("up", "second", "--hosts", "1", *ADDRESSES)
    expect(second.status != 0 and "--roce-address-base" in second.output, str(second))
    return str(second)


def cable_out(fabric):
    """A port without a cable is down; with a cable it is active at once, because it needs no subnet
    manager."""
    for state, shown in (("down", "PORT_DOWN"), ("up", "PORT_ACTIVE")):
        fabric.command("link", "-f", fabric.name, state, "h0/mlx5_0").check()
        show(fabric, "ibv_devinfo", shown)
    return pingpong(fabric, "ibv_rc_pingpong", "-c -n 50")


def again_and_again():
    """When a fabric is down, its addresses are free."""
    for _ in range(5):
        with Fabric("--hosts", "1", *ADDRESSES):
            pass


def counted(fabric):
    """Packets that leave one port arrive at the other."""
    def counter(host, name):
        path = f"/sys/class/infiniband/mlx5_0/ports/1/counters/{name}"
        return int(fabric.run(host, ["cat", path]).check().output)

    names = ("port_xmit_packets", "port_rcv_packets")
    before = {(host, name): counter(host, name) for host in ("h0", "h1") for name in names}
    perftest(fabric, "ib_write_bw -s 65536 -n 100")
    sent, got = (counter("h1", names[0]) - before["h1", names[0]],
                 counter("h0", names[1]) - before["h0", names[1]])
    expect(sent == got and sent >= 1600, f"h1 sent {sent} packets, h0 got {got}")


def main():
    report = Report("roce")
    need_programs("ibv_devinfo", "ib_write_bw", "ucx_perftest", *PINGPONGS)
    with Fabric("--hosts", "2", *ADDRESSES) as fabric:
        def case(title, action):
            report.case("RoCEv2", title, action)

        case("ibv_devinfo", lambda: show(
            fabric, "ibv_devinfo -v", r"link_layer:\s+Ethernet", r"port_lid:\s+0$", r"PORT_ACTIVE",
            r"active_mtu:\s+4096", rf"GID\[ *0\]:\s+::ffff:127\.{NET}\.0\.1, RoCE v2"))
        case("ibstat", lambda: show(fabric, "ibstat", "Link layer: Ethernet", "State: Active",
                                    "Base lid: 0"))
        for program, variants in PINGPONGS.items():
            for variant in variants:
                case(f"{program} {variant}".strip(), lambda: pingpong(fabric, program, variant))
        for command in PERFTEST:
            case(command, lambda: perftest(fabric, command))
        for transport in ("ud_v", "rc_v"):
            case(f"ucx_perftest {transport}", lambda: ucx(fabric, transport))
        case("no connection without a GID", lambda: without_gid(fabric))
        case("packets are counted", lambda: counted(fabric))
        case("a cable is out and in", lambda: cable_out(fabric))
        case("the wire", lambda: on_the_wire(fabric))
        case("an address is taken", lambda: taken_address(fabric))
    report.case("RoCEv2", "one fabric after the other", again_and_again)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
