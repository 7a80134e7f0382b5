#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trunks beyond the plain pair of test_trunk.py: three fabrics in a row over IPv6, a network that
loses, doubles and reorders datagrams, another subnet manager, multicast."""

import contextlib
import json
import os
import pathlib
import random
import select
import socket
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, despite_loss, free_port, need_programs
from test_trunk import DEVICE, across, eventually, expect, make_key, pingpong

CHANNELS = 2  # Packets and MADs have a UDP port each.


class Site(Fabric):
    """A fabric of two hosts on this machine: trunks are pairs of an own and a peer's IP:PORT."""

    def __init__(self, letter, number, key, trunks, *flags):
        super().__init__(
            "--hosts", "2", "--host-pattern", letter + "{}", "--site", str(number), "--trunk",
            " ".join(f"sw0={own},{peer}" for own, peer in trunks), "--trunk-key", str(key), *flags)
        self.flags[self.flags.index("--data-path") + 1] = "packet"
        self.name, self.letter, self.address = f"n{os.getpid()}{letter}", letter, "127.0.0.1"

    def host(self, number):
        return f"{self.letter}{number}"

    def sees(self, count):
        text = self.run(self.host(0), ["ibnetdiscover"]).output
        return sum(line.startswith("Ca\t") for line in text.splitlines()) == count

    def ready(self):
        return all("PORT_ACTIVE" in self.run(self.host(i), ["ibv_devinfo"]).output
                   for i in range(2))


class Relay:
    """A relay between two ends of a trunk, each of which takes it for the other end. Of a hundred
    datagrams one is lost, one comes twice, and two come after the next."""

    def __init__(self, seed):
        net = random.randrange(1, 250)
        self.port = random.randrange(20000, 30000)
        # a, b, the relay for a, the relay for b
        self.ips = [f"127.57.{net}.{n}" for n in range(1, 5)]
        self.random, self.lost, self.doubled, self.late = random.Random(seed), 0, 0, 0
        self.stop = threading.Event()

    def ends(self):
        a, b, for_a, for_b = (f"{ip}:{self.port}" for ip in self.ips)
        return (a, for_a), (b, for_b)

    def __enter__(self):
        self.sockets = {}
        for channel in range(CHANNELS):
            pair = []
            for own, other in ((2, 0), (3, 1)):
                end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                end.bind((self.ips[own], self.port + channel))
                end.connect((self.ips[other], self.port + channel))
                pair.append(end)
            self.sockets[pair[0]], self.sockets[pair[1]] = pair[1], pair[0]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        for end in self.sockets:
            end.close()

    def run(self):
        held = {}
        while not self.stop.is_set():
            for end in select.select(list(self.sockets), [], [], 0.05)[0]:
                try:
                    datagram = end.recv(65536)
                except OSError:  # The other end is not there yet.
                    continue
                chance = self.random.random()
                send = [datagram]
                if chance < 0.01:
                    send, self.lost = [], self.lost + 1
                elif chance < 0.02:
                    send, self.doubled = [datagram, datagram], self.doubled + 1
                elif chance < 0.04 and end not in held:
                    held[end], send, self.late = datagram, [], self.late + 1
                elif end in held:
                    send.append(held.pop(end))
                for each in send:
                    try:
                        self.sockets[end].send(each)
                    except OSError:
                        pass


def become_one(*sites):
    for site in sites:
        eventually(lambda: site.sees(2 * len(sites)) and site.ready(),
                   f"{site.letter} sees all hosts")


def in_a_row(key):
    """Packets from the first fabric to the third cross two trunks."""
    port = random.randrange(20000, 30000)
    p = [f"[::1]:{port + CHANNELS * i}" for i in range(4)]
    with (Site("a", 1, key, [(p[0], p[1])]) as a,
          Site("b", 2, key, [(p[1], p[0]), (p[2], p[3])]) as b,
          Site("c", 3, key, [(p[3], p[2])]) as c):
        become_one(a, b, c)
        pingpong(a, c, "-n", "200")
        pingpong(c, b, "-n", "200")
        return a.run("a0", ["ibnetdiscover"]).check()


def bad_network(key):
    with Relay(7) as relay:
        ends = relay.ends()
        with Site("a", 1, key, [ends[0]]) as a, Site("b", 2, key, [ends[1]]) as b:
            become_one(a, b)
            # More than a packet in a datagram, and datagrams enough that each thing happens.
            despite_loss(lambda: pingpong(a, b, "-n", "300", "-s", "200000", "-m", "4096"))
            despite_loss(lambda: pingpong(b, a, "-n", "300", "-s", "4096", "-m", "1024"))
        happened = f"{relay.lost} lost, {relay.doubled} doubled, {relay.late} late"
        expect(min(relay.lost, relay.doubled, relay.late) > 3, happened)
        return happened


@contextlib.contextmanager
def two_sites(key, flags_of_a=(), flags_of_b=()):
    port = random.randrange(20000, 30000)
    p = [f"127.58.0.{n}:{port}" for n in (1, 2)]
    with (Site("a", 1, key, [(p[0], p[1])], *flags_of_a) as a,
          Site("b", 2, key, [(p[1], p[0])], *flags_of_b) as b):
        become_one(a, b)
        yield a, b


def by_opensm(key):
    """OpenSM runs in one of the fabrics and routes both."""
    with two_sites(key, ("--sm", "opensm"), ("--sm", "none")) as (a, b):
        pingpong(b, a, "-n", "200")
        return a.run("a0", ["sminfo"]).check()


def multicast(key):
    with two_sites(key) as (a, b):
        return across(a, b, lambda port: ["ib_send_lat", *DEVICE, "-F", "-p", str(port), "-g", "-c",
                                          "UD", "-n", "200"])


def by_rdma_cm(key):
    """The address of a host of the other fabric is known there only, but its GID is known
    everywhere."""
    with two_sites(key) as (a, b):
        ports = json.loads(a.command("addr", "-f", a.name, "--json").check().output)["ports"]
        gid = next(port["gid"] for port in ports if port["host"] == "a0")
        port = str(free_port())
        words = ["-a", gid, "-p", port, "-C", "20", "-V", "-v"]
        server = a.start("a0", ["rping", "-s", *words])
        # Nothing outside shows when the server listens.
        client = eventually(lambda: good(b.run("b1", ["rping", "-c", *words])), "rping")
        expect("rdma-ping-19:" in client.output, str(client))
        return server.wait().check()


def good(result):
    return result if result.status == 0 else None


def main():
    need_programs("ibnetdiscover", "ibv_rc_pingpong", "ib_send_lat", "rping", "sminfo", "opensm")
    report = Report("trunk_nets")
    with tempfile.TemporaryDirectory() as folder:
        key = make_key(pathlib.Path(folder), "key")
        report.case("trunks", "three fabrics in a row, IPv6", lambda: in_a_row(key))
        report.case("trunks", "datagrams lost, doubled and reordered", lambda: bad_network(key))
        report.case("trunks", "OpenSM", lambda: by_opensm(key))
        report.case("trunks", "rping by GID", lambda: by_rdma_cm(key))
        report.case("trunks", "multicast", lambda: multicast(key))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
