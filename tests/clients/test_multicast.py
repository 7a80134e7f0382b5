#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that join multicast groups at the SA through libibumad, and ibstat, which asks for the
host's HCAs; all unmodified."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, ONE_HOP, Report, THREE_HOPS, need_programs

ITERATIONS = 500
MGID = "0xff:0x12:0x40:0x1b:0xff:0xff:0:0:0:0:0:0:0:0:0:0x2a"
# With one MGID for both sides ib_send_lat leaves the group twice, and takes the SA's refusal of the
# second time for an error, as it does on any subnet.
MGID_OF_SERVER = MGID[:-1] + "b"
PROGRAMS = ["ib_send_bw", "ib_send_lat"]
VARIANTS = ["-g", f"-g -M {MGID}", "-g -s 64", "-g -s 4096", "-g -e", "-g -x 0"]
BANDWIDTH_VARIANTS = ["-g -l 10"]

IBSTAT = """\
CA 'mlx5_0'
\tCA type: softib
\tNumber of ports: 1
\tFirmware version: 1.0.0
\tHardware version: 0
\tNode GUID: 0x0250f71b10000100
\tSystem image GUID: 0x0250f71b10000100
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 2
\t\tLMC: 0
\t\tSM lid: 3
\t\tCapability mask: 0x0641ca68
\t\tPort GUID: 0x0250f71b10000100
\t\tLink layer: InfiniBand
"""


def multicast(fabric, server, client, program, variant):
    args = variant.split()
    own = ["-M", MGID_OF_SERVER] if "-M" in args and program == "ib_send_lat" else []
    results = fabric.pair(server, client, lambda port: [
        program, "-c", "UD", "-d", "mlx5_0", "-p", str(port), "-n", str(ITERATIONS), *args], own)
    for result in results:
        if not re.search(rf"^ *\d+ +{ITERATIONS} +[\d.]+", result.output, re.MULTILINE):
            raise Failure(f"expected a row of {ITERATIONS} iterations\n{result}")
    # The lowest MLID is free again: members of earlier tests have left their groups.
    if not re.search("LID 0xc00[01] QPN 0xffffff", results[0].output):
        raise Failure(f"the group has not one of the first two MLIDs\n{results[0]}")
    return "\n".join(map(str, results))


def around_a_dead_spine(fabric, server, client, spine):
    """One of the two spines was in the tree; the group gets a tree without it."""
    fabric.command("switch", "kill", "-f", fabric.name, spine).check()
    try:
        return multicast(fabric, server, client, "ib_send_bw", "-g")
    finally:
        fabric.command("switch", "revive", "-f", fabric.name, spine).check()


def ibstat(fabric, args, expected):
    result = fabric.run("h1", ["ibstat", *args]).check()
    if result.output.rstrip("\n") != expected.rstrip("\n"):
        raise Failure(f"expected\n{expected}\n{result}")
    return str(result)


def main():
    need_programs(*PROGRAMS, "ibstat")
    report = Report("multicast")
    for name, flags, server, client in (ONE_HOP, THREE_HOPS):
        with Fabric(*flags) as fabric:
            for program in PROGRAMS:
                variants = VARIANTS + (BANDWIDTH_VARIANTS if program.endswith("bw") else [])
                for variant in variants if name == ONE_HOP[0] else variants[:2]:
                    report.case(f"{program}, {name}", f"-c UD {variant}", lambda: multicast(
                        fabric, server, client, program, variant))
            if name == THREE_HOPS[0]:
                for spine in ("spine0", "spine1"):
                    report.case(f"ib_send_bw, {name}", f"-c UD -g, {spine} is dead",
                                lambda: around_a_dead_spine(fabric, server, client, spine))
    with Fabric("--hosts", "2") as fabric:
        report.case("ibstat", "all", lambda: ibstat(fabric, [], IBSTAT))
        report.case("ibstat", "-l", lambda: ibstat(fabric, ["-l"], "mlx5_0\n"))
        report.case("ibstat", "-p", lambda: ibstat(fabric, ["-p"], "0x0250f71b10000100\n"))
    with Fabric("--hosts", "2", "--hcas", "4") as fabric:
        report.case("ibstat", "-l with 4 HCAs", lambda: ibstat(
            fabric, ["-l"], "mlx5_0\nmlx5_1\nmlx5_2\nmlx5_3\n"))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
