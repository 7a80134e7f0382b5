#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures `softib sim` as users run it, from the command line to the report: large permutations
and an all-to-all. Writes docs/performance-sim.md."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = ("--topology", "fat-tree", "--levels", "3", "--engine", "ftree", "--cable", "500ns",
        "--switch-latency", "200ns", "--buffer", "96KiB")
# Name, flags.
WORKS = (("1,024 hosts, permutation of 2 MB",
          ("--hosts", "1024", "--radix", "16", "--size", "2MB")),
         ("the same, adaptive",
          ("--hosts", "1024", "--radix", "16", "--size", "2MB", "--adaptive")),
         ("1,024 hosts, all-to-all of 1 kB: 1,047,552 messages",
          ("--hosts", "1024", "--radix", "16", "--traffic", "all-to-all", "--size", "1kB")),
         ("8,192 hosts, permutation of 2 MB",
          ("--hosts", "8192", "--radix", "32", "--size", "2MB")),
         ("24,576 hosts, permutation of 1 MiB",
          ("--hosts", "24576", "--radix", "64", "--size", "1MiB")),
         ("45,000 hosts, permutation of 200 kB",
          ("--hosts", "45000", "--radix", "64", "--size", "200kB")))

CONNECTIONS = (100, 1_000, 4_000, 10_000, 30_000, 100_000)


def measure(build, flags):
    """The report, and CPU seconds and MiB of the whole command."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([f"{build}/bin/softib", "sim", *flags, "--json"], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"softib sim {' '.join(flags)} failed")
        out.seek(0)
        return json.load(out), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def thrash(build, connections):
    """A line of the table of connections."""
    messages = max(2 * connections, 50_000)
    with tempfile.NamedTemporaryFile("w", suffix=".pairs") as pairs:
        pairs.write("h0 h1\n")
        pairs.flush()
        said, _, _ = measure(build, ("--hosts", "2", "--traffic", "pairs", "--pairs", pairs.name,
                                     "--size", "64", "--contexts", "4096",
                                     "--connections", str(connections),
                                     "--repetitions", str(messages), "--outstanding", "256"))
    rate = messages / (said["duration_ps"] / 1e6)
    return f"| {connections:,} | {rate:.1f} | {said['packets']['context_misses'] / messages:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--write")
    parser.add_argument("--works", type=int, default=len(WORKS), help="only the first ones")
    arguments = parser.parse_args()
    lines = ["# Performance of `softib sim`", "",
             "Written by `make bench` (`bench/sim.py`). One thread, one run each. "
             "Non-blocking 3-level fat trees of 400 Gb/s,",
             "cables of 500 ns, switches of 200 ns, buffers of 96 KiB, routes of `ftree`, "
             "an ACK every 256 packets and at the end",
             "of a message. *Run* is the simulation alone, *all* the whole command: "
             "generating and routing the fabric, the run,",
             "and the report with the roots of congestion. A hop is one packet on one cable.", "",
             "| work | hops | CPU s, run | million hops/s | CPU s, all | MiB | simulated |",
             "|---|---|---|---|---|---|---|"]
    for name, flags in WORKS[:arguments.works]:
        said, cpu, mib = measure(arguments.build, TREE + flags)
        hops, run = said["packets"]["hops"], said["cpu_seconds"]
        if said["traffic"][0]["unfinished"] + said["traffic"][0]["failed"] != 0:
            raise RuntimeError(f"{name}: not all messages arrived")
        lines.append(f"| {name} | {hops:,} | {run:.2f} | {hops / run / 1e6:.1f} | {cpu:.1f} | "
                     f"{mib:.0f} | {said['duration_ps'] / 1e6:.1f} µs |")
        print(lines[-1], flush=True)
    lines += ["", "## Connections", "",
              "Messages of 64 bytes from one host to another over ever more connections, "
              "256 under way at a time. An adapter",
              "holds 4,096 of them; a miss costs 700 ns on the bus, 16 at a time. "
              "Million messages a second, and misses at both",
              "ends by message.", "", "| connections | million/s | misses |", "|---|---|---|"]
    lines += [thrash(arguments.build, n) for n in CONNECTIONS]
    print("\n".join(lines[-len(CONNECTIONS):]))
    if arguments.write:
        Path(arguments.write).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
