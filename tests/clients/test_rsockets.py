#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unmodified TCP programs with their connections over the fabric (softib exec --rsockets): what
they send arrives, and crosses the fabric. Connections to addresses that are not on the fabric, or
that have no listener there, stay those of the kernel."""

import pathlib
import random
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import (Fabric, Failure, ONE_HOP, Report, THREE_HOPS, free_port, listening,
                         need_programs)
from subnet import expect
from test_rdmacm import address, listens

PROGRAMS = ["curl", "nc", "iperf3"]
COUNTERS = "/sys/class/infiniband/mlx5_0/ports/1/counters/"
SIZE = 3_000_001  # More than any buffer holds.
PROBE = pathlib.Path(__file__).with_name("rsockets_probe.py")


class Files:
    """A file to send, a place for the copy, and a comparison of both."""

    def __init__(self, fabric):
        self.source, self.target = (pathlib.Path(fabric.dir, name) for name in ("sent", "received"))

    def __enter__(self):
        self.source.write_bytes(random.Random(1).randbytes(SIZE))
        return self

    def __exit__(self, *_):
        for path in (self.source, self.target):
            path.unlink(missing_ok=True)

    def compare(self):
        if self.target.read_bytes() != self.source.read_bytes():
            raise Failure("what arrived is not what was sent")


def start(fabric, host, argv, rsockets=True):
    """Starts a program on a host, with its connections over the fabric or not."""
    return fabric.start(host, argv, options=["--rsockets"] if rsockets else [])


def start_server(fabric, host, argv, port, rsockets=True):
    server = start(fabric, host, argv, rsockets)
    ready = (lambda: listens(fabric, host, port)) if rsockets else (lambda: listening(port))
    server.wait_until(ready, f"listening on port {port}")
    return server


def end(fabric, *programs):
    for program in programs:
        program.signal(signal.SIGKILL)
        program.wait()
        fabric.programs.remove(program)


def finish(fabric, program):
    result = program.wait().check()
    fabric.programs.remove(program)
    return result


def received_bytes(fabric, host):
    """Counters are in words."""
    return 4 * int(fabric.run(host, ["cat", COUNTERS + "port_rcv_data"]).check().output)


def http(fabric, server, client, server_rsockets=True, client_rsockets=True):
    """curl gets a file from Python's server, over the fabric if both sides use --rsockets."""
    port = free_port()
    with Files(fabric) as files:
        running = start_server(fabric, server,
                               [sys.executable, "-m", "http.server", str(port), "--directory",
                                str(files.source.parent)], port, server_rsockets)
        before = received_bytes(fabric, client)
        url = f"http://{address(fabric, server)}:{port}/{files.source.name}"
        result = finish(fabric, start(
            fabric, client, ["curl", "-sSf", "-o", str(files.target), url], client_rsockets))
        files.compare()
        came = received_bytes(fabric, client) - before
        end(fabric, running)
    if server_rsockets and client_rsockets:
        expect(came >= SIZE, f"{came} bytes came over the fabric")
    else:
        expect(came < SIZE, f"{came} bytes came over the fabric")
    return result


def netcat(fabric, server, client):
    """The end of both directions is seen: the server ends when the client has sent all."""
    port = free_port()
    with Files(fabric) as files:
        running = start_server(fabric, server,
                               ["sh", "-c", f"exec nc -l {port} > {files.target}"], port)
        before = received_bytes(fabric, server)
        finish(fabric, start(fabric, client, [
            "sh", "-c", f"exec nc -N {address(fabric, server)} {port} < {files.source}"]))
        result = finish(fabric, running)
        files.compare()
        expect(received_bytes(fabric, server) - before >= SIZE, "it did not come over the fabric")
    return result


def iperf(fabric, server, client):
    """By select, several connections, both ways at once. It ends them all when one way is done."""
    port = free_port()
    running = start_server(fabric, server, ["iperf3", "-s", "-1", "-p", str(port)], port)
    before = received_bytes(fabric, server)
    result = finish(fabric, start(fabric, client, [
        "iperf3", "-c", address(fabric, server), "-p", str(port), "-n", "64M", "-P", "2",
        "--bidir"]))
    finish(fabric, running)
    expect(re.search(r"receiver", result.output) is not None, f"no results\n{result}")
    expect(received_bytes(fabric, server) - before >= 4 << 20, "it did not come over the fabric")
    return result


def asyncio_echo(fabric, server, client):
    """By epoll: four connections at once, each with data of its own."""
    port = free_port()
    running = start_server(fabric, server, [sys.executable, str(PROBE), "serve", str(port)], port)
    before = received_bytes(fabric, server)
    result = finish(fabric, start(fabric, client, [sys.executable, str(PROBE), "ask",
                                                   address(fabric, server), str(port)]))
    end(fabric, running)
    expect(received_bytes(fabric, server) - before >= 4 * 300_000,
           "it did not come over the fabric")
    return result


def children(fabric, server, client):
    port = free_port()
    running = start_server(fabric, server, [sys.executable, str(PROBE), "serve", str(port)], port)
    result = finish(fabric, start(fabric, client, [sys.executable, str(PROBE), "ask_after_children",
                                                   address(fabric, server), str(port)]))
    end(fabric, running)
    return result


def same_port_on_two_hosts(fabric, server, client):
    """A TCP port exists once on the machine, and once for each host on the fabric."""
    port = free_port()
    servers = [
        start_server(fabric, host, [sys.executable, str(PROBE), "say", host, str(port)], port)
        for host in (server, client)]
    for host in (server, client):
        result = finish(fabric,
                        start(fabric, client, ["nc", "-d", address(fabric, host), str(port)]))
        expect(result.output.strip() == host, f"{host} answered {result.output!r}")
    end(fabric, *servers)


def nobody_listens(fabric, server, client):
    result = start(fabric, client, ["nc", "-v", "-z", address(fabric, server), str(free_port())])
    shown = result.wait()
    fabric.programs.remove(result)
    expect(shown.status == 1 and "refused" in shown.output, str(shown))


CASES = [
    ("curl from http.server", http),
    ("curl from http.server, which does not use the fabric",
     lambda *where: http(*where, False, True)),
    ("curl, which does not use the fabric, from http.server",
     lambda *where: http(*where, True, False)),
    ("nc", netcat),
    ("iperf3 --bidir", iperf),
    ("asyncio, by epoll", asyncio_echo),
    ("a parent keeps its connection", children),
    ("the same port on two hosts", same_port_on_two_hosts),
    ("nobody listens", nobody_listens),
]


def main():
    report = Report("rsockets")
    need_programs(*PROGRAMS)
    for hops, flags, server, client in (ONE_HOP, THREE_HOPS):
        with Fabric(*flags) as fabric:
            for title, action in CASES:
                report.case(hops, title, lambda: action(fabric, server, client))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
