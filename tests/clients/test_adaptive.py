#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our subnet manager turns adaptive routing on by MADs: the switches of a live fabric then
choose among their uplinks for datagrams, and only for these."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, despite_loss, need_programs
from subnet import expect

# Two leaves with two hosts each, two spines; ports 3 and 4 of a leaf lead up.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4", "--engine", "ftree")
UPLINKS = ("3", "4")
PACKETS = 1000


def sent_up(fabric):
    status = json.loads(fabric.command("status", "-f", fabric.name, "--json", "-v").check().output)
    leaf = next(switch for switch in status["switches"] if switch["name"] == "leaf0")
    return [leaf["port_counters"][port]["xmit_packets"] for port in UPLINKS]


def used(fabric, program):
    """Returns the number of uplinks of leaf0 by which a good part of a program's packets went."""
    before = sent_up(fabric)
    despite_loss(lambda: fabric.pair("h3", "h0", lambda port: [
        program, "-d", "mlx5_0", "-p", str(port), "-n", str(PACKETS)]))
    more = [after - old for after, old in zip(sent_up(fabric), before)]
    expect(sum(more) >= PACKETS, f"{more} packets went up")
    return sum(count > PACKETS / 10 for count in more)


def datagrams_spread(fabric):
    expect(used(fabric, "ibv_ud_pingpong") == 2, "datagrams keep to one uplink")


def connections_keep_to_their_route(fabric):
    expect(used(fabric, "ibv_rc_pingpong") == 1, "packets of a connection went two ways")


def without_it(fabric):
    expect(used(fabric, "ibv_ud_pingpong") == 1, "datagrams went two ways")


def main():
    need_programs("ibv_ud_pingpong", "ibv_rc_pingpong")
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    report = Report("adaptive")
    with Fabric(*TREE, "--adaptive-routing") as fabric:
        report.case("on", "datagrams use all uplinks", lambda: datagrams_spread(fabric))
        report.case("on", "connections use one", lambda: connections_keep_to_their_route(fabric))
    with Fabric(*TREE) as fabric:
        report.case("off", "datagrams use one uplink", lambda: without_it(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
