#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files for other tools: ibsim loads what softib writes, the ibnetdiscover of the distribution
looks at the simulated fabric, and softib reads that back to the graph it began with."""

import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Failure, Program, Report, find_build, need_programs, skip

SOFTIB = str(find_build() / "bin" / "softib")
SHAPES = {
    "single switch": ("--hosts", "4"),
    "fat tree": ("--topology", "fat-tree", "--hosts", "32", "--radix", "8"),
    "fat tree of 3 levels, 2 rails": ("--topology", "fat-tree", "--levels", "3", "--hosts", "16",
                                      "--hcas", "2", "--radix", "8"),
    "torus": ("--topology", "torus", "--dimensions", "3x4", "--hosts", "24"),
    "dragonfly": ("--topology", "dragonfly", "--hosts", "36"),
}
# No ibsim knows XDR, and that of Debian 12 does not know NDR. The options in a netlist make HDR of
# them; a plain dump has no options, and then they become SDR.
KNOWN = ("EDR", "HDR")
UNKNOWN = "XDR"
UNKNOWN_BECOMES = {"--ibsim": "HDR", "--ibnetdiscover": "SDR"}

# Two ports of one adapter, a router, and links as they are no more built.
OLD = """\
vendid=0x2c9
devid=0xc738
switchguid=0x50
Switch 12 "left"
[1] "node1"[1] w=1 s=1
[2] "node1"[2] w=2 s=7
[3] "gate"[1] # "gate" lid 0 12xDDR
[4] "right"[1] # "right" lid 0 4xFDR10

vendid=0x2c9
switchguid=0x60
Switch 12 "right"
[1] "left"[4] # "left" lid 0 4xFDR10
[2] "node2"[1] # "node2" lid 0 4xFDR

caguid=0x10
Hca 2 "node1"
[1] "left"[1] w=1 s=1
[2] "left"[2] w=2 s=7

caguid=0x20
Hca 1 "node2"
[1] "right"[2] # lid 0 lmc 0 "right" lid 0 4xFDR

rtguid=0x30
Rt 1 "gate"
[1] "left"[3] w=8 s=3
"""


def library():
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib/umad2sim/*.so")
    return found[0] if found else skip("no libumad2sim.so; run 'make deps'")


def softib(*words):
    result = subprocess.run([SOFTIB, *words], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=60)
    if result.returncode != 0:
        raise Failure(f"softib {' '.join(words)}\n{result.stdout}{result.stderr}")
    return result.stdout


def graph(*flags):
    """Returns nodes and cables, independent of their order."""
    data = json.loads(softib("topo", *flags, "--json"))
    nodes = {(n["name"], n["kind"], n["guid"], n["ports"]) for n in data["nodes"]}
    cables = {(frozenset([(c["a"], c["a_port"]), (c["b"], c["b_port"])]), c["generation"],
               c["lanes"]) for c in data["cables"]}
    return nodes, cables


def dump_in_ibsim(netlist, folder):
    """Returns what ibnetdiscover prints about a netlist in ibsim. Both leave files in their working
    directory."""
    env = dict(os.environ, IBSIM_SOCKNAME=f"softib-test-{os.getpid()}", LD_PRELOAD="")
    limits = ["-N", "4096", "-S", "1024", "-P", "65536"]
    simulator = Program(["env", "-C", folder, "ibsim", "-s", "-n", *limits, netlist],
                        ["ibsim", netlist], env)
    try:
        simulator.wait_until(lambda: "simulator ready" in simulator.output(), "ibsim's start")
        path = os.path.join(folder, "dump")
        command = f"exec env LD_PRELOAD={library()} ibnetdiscover > {path}"
        Program(["env", "-C", folder, "sh", "-c", command], ["ibnetdiscover"], env).wait().check()
    finally:
        simulator.wait(0)
    return path, pathlib.Path(path).read_text(), simulator.output()


def compare(wanted, got, text):
    for what, one, other in zip(("nodes", "cables"), wanted, got):
        if one != other:
            raise Failure(f"{what} differ: missing {list(one - other)[:3]}, "
                          f"new {list(other - one)[:3]}\n{text}")


def generated(flags, form, generation):
    with tempfile.TemporaryDirectory(prefix="softib-ibsim-") as folder:
        netlist = os.path.join(folder, "net")
        softib("topo", *flags, "--generation", generation, form, netlist)
        path, text, said = dump_in_ibsim(netlist, folder)
        if generation in KNOWN and "ibwarn" in said:
            raise Failure(f"ibsim is not content\n{said}")
        becomes = generation if generation in KNOWN else UNKNOWN_BECOMES[form]
        nodes, cables = graph(*flags, "--generation", generation)
        compare((nodes, {(ends, becomes, lanes) for ends, _, lanes in cables}),
                graph("--from", path), text)
        return text


def old():
    with tempfile.TemporaryDirectory(prefix="softib-ibsim-") as folder:
        by_hand = os.path.join(folder, "by-hand")
        pathlib.Path(by_hand).write_text(OLD)
        netlist = os.path.join(folder, "net")
        softib("topo", "--from", by_hand, "--ibsim", netlist)
        text = ""
        for source in (by_hand, netlist):
            path, text, _ = dump_in_ibsim(source, folder)
            compare(graph("--from", by_hand), graph("--from", path), f"{source}\n{text}")
        return text


def main():
    need_programs("ibsim", "ibnetdiscover")
    library()
    report = Report("ibsim")
    for shape, flags in SHAPES.items():
        for generation in (*KNOWN, UNKNOWN) if shape == "fat tree" else ["HDR"]:
            for form in ("--ibsim", "--ibnetdiscover"):
                report.case("ibsim", f"{shape}, {generation}, topo {form}",
                            lambda: generated(flags, form, generation))
    report.case("ibsim", "two ports, a router, old links", old)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
