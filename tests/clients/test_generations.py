#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A fabric of every generation of InfiniBand, from SDR to GDR: what the distribution's unmodified
programs print of a link."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, need_programs
from subnet import expect

# By generation: Gb/s of four lanes, as ibstat prints them; LinkSpeed, LinkSpeedExt and a lane, as
# smpquery and ibv_devinfo do. FDR10 is QDR in PortInfo. The distribution's programs know neither
# XDR nor GDR: they show the fastest that they know, NDR.
NDR = "100.0 Gbps (128)"
KNOWN = {
    "SDR": (10, "2.5 Gbps", "No Extended Speed", "2.5 Gbps (1)"),
    "DDR": (20, "5.0 Gbps", "No Extended Speed", "5.0 Gbps (2)"),
    "QDR": (40, "10.0 Gbps", "No Extended Speed", "10.0 Gbps (4)"),
    "FDR10": (40, "10.0 Gbps", "No Extended Speed", "10.0 Gbps (8)"),
    "FDR": (56, "10.0 Gbps", "14.0625 Gbps", "14.0 Gbps (16)"),
    "EDR": (100, "10.0 Gbps", "25.78125 Gbps", "25.0 Gbps (32)"),
    "HDR": (200, "10.0 Gbps", "53.125 Gbps", "50.0 Gbps (64)"),
    "NDR": (400, "10.0 Gbps", "106.25 Gbps", NDR),
    "XDR": (800, "10.0 Gbps", "106.25 Gbps", NDR),
    "GDR": (1600, "10.0 Gbps", "106.25 Gbps", NDR),
}
def shown(generation):
    gbps, speed, extended, lane = KNOWN[generation]
    with Fabric("--hosts", "2", "--generation", generation) as fabric:
        def printed(*command):
            return fabric.run("h0", list(command)).check().output

        ibstat = " (FDR10)" if generation == "FDR10" else ""
        expect(f"Rate: {gbps}{ibstat}\n" in printed("ibstat"), printed("ibstat"))
        rate = printed("cat", "/sys/class/infiniband/mlx5_0/ports/1/rate")
        expect(rate == f"{gbps} Gb/sec (4X {generation})\n", rate)
        info = printed("smpquery", "portinfo", "-D", "0")
        for name, value in (("LinkSpeedActive", speed), ("LinkSpeedExtActive", extended)):
            expect(any(line.startswith(f"{name}:") and line.endswith(f".{value}")
                       for line in info.splitlines()), f"{name} {value} is not in\n{info}")
        devinfo = " ".join(printed("ibv_devinfo", "-v").split())
        expect(f"active_speed: {lane}" in devinfo, devinfo)
        status = fabric.command("status", "-f", fabric.name, "-v").check().output
        expect(f" {gbps} Gb/s (4X {generation}) " in status, status)
        return rate


def main():
    need_programs("ibstat", "smpquery", "ibv_devinfo")
    report = Report("generations")
    for generation in KNOWN:
        report.case("ibstat", generation, lambda: shown(generation))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
