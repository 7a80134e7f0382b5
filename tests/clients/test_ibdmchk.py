#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ibdmchk of ibutils, unmodified, on what `softib routes dump` writes: a checker of routes that is
not ours must say the same as `softib routes check`.

Its credit loop check knows service levels and lanes if it gets the files for them (-c, -d), so that
a torus with datelines passes. Whatever files it gets, also those that OpenSM writes itself, this
version (1.5.7) dies of a segmentation fault after its last line; so what it prints counts, not its
status."""

import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, free_port, listening, need_programs
from subnet import expect

TREE = ("--topology", "fat-tree", "--hosts", "32", "--radix", "8")
DEEP = ("--topology", "fat-tree", "--hosts", "16", "--radix", "4", "--levels", "3")
TORUS = ("--topology", "torus", "--dimensions", "5x5", "--hosts", "25")
DRAGONFLY = ("--topology", "dragonfly", "--hosts", "40")
CUT_IN_TREE = (("leaf0", "5"), ("leaf1", "5"), ("leaf1", "6"), ("leaf3", "8"))
CUT_IN_TORUS = (("sw0_0", "2"), ("sw2_3", "4"))
# Name, flags, hosts, cables to pull.
GOOD = [
    *[(f"fat tree, {engine}", (*TREE, "--engine", engine), 32, ())
      for engine in ("minhop", "updn", "ftree")],
    *[(f"degraded fat tree, {engine}", (*TREE, "--engine", engine), 32, CUT_IN_TREE)
      for engine in ("minhop", "updn", "ftree")],
    ("fat tree of three levels, ftree", (*DEEP, "--engine", "ftree"), 16, ()),
    *[(f"torus, {engine}", (*TORUS, "--engine", engine), 25, ())
      for engine in ("dor", "nue", "updn")],
    *[(f"degraded torus, {engine}", (*TORUS, "--engine", engine), 25, CUT_IN_TORUS)
      for engine in ("dor", "nue")],
    *[(f"dragonfly, {engine}", (*DRAGONFLY, "--engine", engine), 40, ())
      for engine in ("dragonfly", "nue")],
    ("dragonfly+, updn", ("--topology", "dragonfly-plus", "--hosts", "90", "--engine", "updn"), 90,
     ()),
    ("HyperX, auto", ("--topology", "hyperx", "--hosts", "32"), 32, ()),
    ("rail-optimized, ftree",
     ("--topology", "rail-optimized", "--hosts", "16", "--hcas", "2", "--radix", "8"), 32, ()),
]


def ibdmchk(fabric, directory):
    """Returns what ibdmchk says about the tables that the switches hold now."""
    fabric.command("routes", "dump", "-f", fabric.name, directory).check()
    options = ["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", "-c",
               "opensm-path-sl.dump", "-d", "opensm-sl2vl.dump"]
    words = [f"{directory}/{word}" if word.startswith("opensm") else word for word in options]
    return fabric.run("h0", ["ibdmchk", *words]).output


def checked(fabric):
    return fabric.command("routes", "check", "-f", fabric.name)


def good(fabric, hosts, cables):
    for node, port in cables:
        fabric.command("link", "down", "-f", fabric.name, node, port).check()
    # The manager hears of a pulled cable by a trap, which may have to be repeated.
    end = time.monotonic() + 20
    while (ours := checked(fabric)).status != 0 and time.monotonic() < end:
        time.sleep(0.05)
    ours.check()
    with tempfile.TemporaryDirectory() as directory:
        theirs = ibdmchk(fabric, directory)
    for line in (f"-I- Scanned:{hosts * (hosts - 1)} CA to CA paths", "-I- no credit loops found"):
        expect(line in theirs, f"expected {line}\n{theirs}\n{ours}")
    expect("-E-" not in theirs and "-W-" not in theirs, theirs)
    return theirs[-300:]


def loop(fabric):
    expect(checked(fabric).status == 1, "no credit loop found by us")
    with tempfile.TemporaryDirectory() as directory:
        theirs = ibdmchk(fabric, directory)
    expect("-E- credit loops in routing" in theirs, theirs)
    return theirs[-600:]


def lost(fabric):
    fabric.command("route", "clear", "-f", fabric.name, "leaf1", "1").check()
    ours = checked(fabric)
    expect(ours.status == 1 and "to h0/mlx5_0 (LID 1): no path" in ours.output, str(ours))
    with tempfile.TemporaryDirectory() as directory:
        theirs = ibdmchk(fabric, directory)
    expect("-E- Unassigned LFT for lid:1" in theirs and
           "missing paths out of:992" in theirs, theirs)


def multicast(fabric):
    """Two programs in one group: its tree connects them without a loop."""
    port = free_port()
    command = ["ib_send_bw", "-c", "UD", "-g", "-d", "mlx5_0", "-p", str(port), "-D", "30"]
    server = fabric.start("h0", command)
    server.wait_until(lambda: listening(port), "listening", 20)
    client = fabric.start("h31", [*command, "localhost"])
    try:
        with tempfile.TemporaryDirectory() as directory:
            end = time.monotonic() + 20
            while True:
                theirs = ibdmchk(fabric, directory)
                found = re.search(r"Defined (\d+) Multicast Fdb entries for:(\d+) switches", theirs)
                if found and int(found[2]) >= 3:
                    break
                expect(time.monotonic() < end, theirs)
            table = pathlib.Path(directory, "opensm.mcfdbs").read_text()
    finally:
        for program in (client, server):
            program.signal(9)
            program.wait()
    expect(re.search(r"Multicast Group:0x\w+ has:3 switches and:2 HCAs", theirs),
           f"{theirs}\n{table}")
    expect("-E-" not in theirs, f"{theirs}\n{table}")
    return table


def main():
    need_programs("ibdmchk", "ib_send_bw")
    report = Report("ibdmchk")
    for name, flags, hosts, cables in GOOD:
        if report.wants(f"agrees: {name}"):
            with Fabric(*flags) as fabric:
                report.case("agrees", name, lambda: good(fabric, hosts, cables))
    with Fabric(*TORUS, "--engine", "minhop") as fabric:
        report.case("agrees", "torus, minhop: credit loop", lambda: loop(fabric))
    with Fabric(*TREE) as fabric:
        report.case("agrees", "multicast", lambda: multicast(fabric))
        report.case("agrees", "fat tree, a route removed", lambda: lost(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
