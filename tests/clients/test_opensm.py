#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""OpenSM and osmtest, unmodified: OpenSM as the fabric's manager (--sm opensm), its torus-2QoS
engine, and osmtest against our subnet administration. What else OpenSM routes is in
test_diags.py."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, need_programs
from subnet import expect, opensm, pingpong

TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
TORUS = ("--hosts", "25", "--topology", "torus", "--dimensions", "5x5")
# OpenSM's tables of rates end with HDR.
FLOWS = {"c": "Create Inventory", "a": "All Validations", "v": "Validate Inventory",
         "s": "Services Registration", "m": "Multicast", "e": "Event Forwarding",
         "q": "QoS: VLArb and SLtoVL"}


def osmtest(fabric, flow, directory):
    """Flow c writes the inventory for those that follow; q writes qos.txt where it stands."""
    words = (f"cd {directory} && exec osmtest -f {flow} -i {directory}/osmtest.dat "
             f"-l {directory}/osmtest-{flow}.log")
    result = fabric.run("h0", ["bash", "-c", words], timeout_s=120).check()
    expect(f'OSMTEST: TEST "{FLOWS[flow]}" PASS' in result.output, str(result))
    return str(result)


def torus_2qos(fabric):
    """Returns the seed of OpenSM's torus: the neighbours of the first switch in both dimensions."""
    guids = dict(re.findall(r"^(sw\d_\d) .* (0x[0-9a-f]+)$", fabric.command(
        "route", "show", "-f", fabric.name).check().output, re.MULTILINE))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write("torus 5 5 1\n"
                   f"xp_link {guids['sw0_0']} {guids['sw1_0']}\n"
                   f"yp_link {guids['sw0_0']} {guids['sw0_1']}\n")
        conf.flush()
        text = opensm(fabric, "torus-2QoS", "-Q", "--torus_config", conf.name)
    expect("torus-2QoS tables configured on all switches" in text, text)
    check = fabric.command("routes", "check", "-f", fabric.name)
    expect("1850 pairs of end ports reach each other" in check.output, str(check))
    for far in ("h24", "h12"):
        pingpong(fabric, "h0", far)
    return text


def managed(fabric):
    """From the first moment on, programs find active ports and a master."""
    for host in ("h1", "h3"):
        pingpong(fabric, "h0", host)
    fabric.pair("h0", "h2",
                lambda port: ["ib_write_bw", "-d", "mlx5_0", "-p", str(port), "-n", "100"])
    result = fabric.run("h3", ["sminfo"]).check()
    expect("sm lid 1 sm guid 0x250f71b10000000" in result.output and
           "SMINFO_MASTER" in result.output, str(result))
    # Tables of many packets and of less than one: each ends with its last record.
    for kind, count in {"NR": 8, "SWIR": 4, "SMIR": 1, "MCMR": 1}.items():
        result = fabric.run("h3", ["saquery", kind]).check()
        expect(len(re.findall("Record ?dump:", result.output)) == count, str(result))
    return str(fabric.command("sm", "-f", fabric.name).check())


def main():
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    need_programs("opensm", "osmtest", "saquery", "sminfo", "ibstat", "ib_write_bw",
                  "ibv_rc_pingpong")
    report = Report("opensm")
    with Fabric(*TREE, "--generation", "HDR") as fabric, tempfile.TemporaryDirectory() as directory:
        for flow, title in FLOWS.items():
            report.case("osmtest", f"{flow}: {title}", lambda: osmtest(fabric, flow, directory))
    with Fabric(*TORUS, "--sm", "none") as fabric:
        report.case("opensm", "torus-2QoS -Q", lambda: torus_2qos(fabric))
    with Fabric(*TREE, "--sm", "opensm", "--sm-args", "-R ftree") as fabric:
        report.case("softib", "--sm opensm", lambda: managed(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
