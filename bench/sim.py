#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures `softib sim` as users run it, from the command line to the report: large permutations
and an all-to-all. Writes docs/performance-sim.md."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from packets import permutation

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

# B2, B4, B7 and B8 of the benchmark's definitions: name, flags, what other simulators need or what
# is the goal.
NAMED = (("B2, 1,024 hosts, permutation of 2 MB, every packet acknowledged",
          ("--hosts", "1024", "--radix", "16", "--size", "2MB", "--ack-every", "1"),
          "SimAI on ns-3: 95 s, 11.8 GB"),
         ("B4, ring all-reduce of 1 MB, 1,024 ranks: 2,046 steps",
          ("--hosts", "1024", "--radix", "16", "--traffic", "ring,repetitions=2046",
           "--size", "976"), "ASTRA-sim, analytical: 30.5 s"),
         ("B4, direct all-to-all of 1 MB, 1,024 ranks",
          ("--hosts", "1024", "--radix", "16", "--traffic", "all-to-all", "--size", "976"),
          "ASTRA-sim, analytical: 149 s"),
         ("B7, 45,000 hosts, permutation of 200 kB",
          ("--hosts", "45000", "--radix", "64", "--size", "200kB"), "at most 12 s and 1 GB"))
PARALLEL = ("--hosts", "8192", "--radix", "32", "--size", "2MB", "--ack-every", "1")
REPEATS = 3

CONNECTIONS = (100, 1_000, 4_000, 10_000, 30_000, 100_000)


def measure(build, flags, launcher=()):
    """Returns the report, and CPU seconds and MiB of the whole command."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([*launcher, f"{build}/bin/softib", "sim", *flags, "--json"],
                                   stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"softib sim {' '.join(flags)} failed")
        out.seek(0)
        return json.load(out), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def named(build):
    """Returns the section about the single runs that the benchmark's definitions name."""
    lines = ["", "## B2, B4 and B7", "",
             "CPU seconds and MiB of the whole command, on one thread. A rank of the all-reduce "
             "sends its next part when that of its",
             "neighbour has come. In the all-to-all every rank has all its messages under way at "
             "once.", "",
             "| work | CPU s | MiB | hops | simulated | beside |", "|---|---|---|---|---|---|"]
    for name, flags, beside in NAMED:
        said, cpu, mib = measure(build, TREE + flags)
        lines.append(f"| {name} | {cpu:.2f} | {mib:.0f} | "
                     f"{said['packets']['hops']:,} | {said['duration_ps'] / 1e6:.1f} µs | "
                     f"{beside} |")
        print(lines[-1], flush=True)
    return lines


def same(said):
    """Returns the results of a run, without what it cost."""
    return {key: value for key, value in said.items() if key not in ("cpu_seconds", "events")}


def parallel(build, flags):
    """Returns the section about threads and processes: ratios of the whole command's time, in one
    run."""
    ways = {"1 thread": ((), ()), "2 threads": ((), ("--threads", "2"))}
    mpirun = shutil.which("mpirun.openmpi")
    if mpirun is not None:
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        ways["2 processes of Open MPI"] = ((mpirun, *root, "-n", "2", "--oversubscribe", "--mca",
                                            "btl", "self,vader", "--mca", "pml", "ob1"), ())
    seconds = {way: [] for way in ways}
    first = None
    for _ in range(REPEATS):
        for way, (launcher, more) in ways.items():
            begin = time.monotonic()
            said = same(measure(build, (*TREE, *flags, *more), launcher)[0])
            seconds[way].append(time.monotonic() - begin)
            first = first or said
            if said != first:
                raise RuntimeError(f"{way}: another report than that of one thread")
    lines = ["", "## B8: one simulation on threads and processes", "",
             "8,192 hosts, permutation of 2 MB, every packet acknowledged. Seconds by the clock of "
             "the whole command, routing and report included, and the median",
             f"of the ratios of {REPEATS} rounds, each of which runs all ways one after the other. "
             f"All reports are the same. {os.cpu_count()} cores.", "",
             "| on | s, median | times as fast |", "|---|---|---|"]
    for way, took in seconds.items():
        ratio = statistics.median(one / this for one, this in zip(seconds["1 thread"], took))
        lines.append(f"| {way} | {statistics.median(took):.2f} | {ratio:.2f} |")
        print(lines[-1], flush=True)
    return lines


def threads_alone(build):
    """Returns lines about what two threads save of the run alone, without routing and report."""
    def seconds(threads):
        done = subprocess.run([f"{build}/bench/bench_parallel", "8192", "32", "1", "0", "2000000",
                               str(threads)], input=permutation(8192), stdout=subprocess.PIPE,
                              text=True, check=True)
        return float(done.stdout.split()[-1])

    ratios = sorted(seconds(1) / seconds(2) for _ in range(REPEATS))
    lines = ["", "The run alone (`bench_parallel`), without routing and report, is "
             f"{statistics.median(ratios):.2f} times as fast on two threads",
             f"({ratios[0]:.2f} to {ratios[-1]:.2f}). Goals: 1.7 for threads, 1.5 for processes."]
    print("\n".join(lines), flush=True)
    return lines


def thrash(build, connections):
    """Returns a line of the table of connections."""
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
    parser.add_argument("--only", choices=("named", "parallel"), help="print only this section")
    parser.add_argument("--hosts", help="of the section of threads, to try it")
    arguments = parser.parse_args()
    shared = PARALLEL if arguments.hosts is None else ("--hosts", arguments.hosts, *PARALLEL[2:])
    if arguments.only is not None:
        named(arguments.build) if arguments.only == "named" else parallel(arguments.build, shared)
        return 0
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
    lines += named(arguments.build) + parallel(arguments.build, shared)
    lines += threads_alone(arguments.build)
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
