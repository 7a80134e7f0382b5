#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures RoCEv2 on the loopback interface against TCP there, in one run, as ratios.

Rounds are interleaved as in run.py. All packets of both hosts go through one thread, the carrier's.
"""
import argparse
import os
import platform
import shutil
import sys
from pathlib import Path

from run import Bench, verdict

GIDS = ("-x", "0")
TCP_RATIO_MIN = 1.0
LATENCY_BYTES = "8"


def measure(bench, base):
    bench.load = os.getloadavg()[0]
    bench.up("bench", 2, "--link-layer", "ethernet", "--roce-address-base", base)
    try:
        for r in range(bench.rounds):
            if sys.stderr.isatty():
                print(f"\rround {r + 1} of {bench.rounds}    ", end="", file=sys.stderr, flush=True)
            bench.record("tcp", bench.tcp("tcp_bw", "-m", "65536") * 1e-9)
            for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
                bench.record(program, bench.bandwidth(program, *GIDS, "-s", "65536", "-n", "10000")[0])
            bench.record("tcp latency", bench.tcp("tcp_lat", "-m", LATENCY_BYTES) * 1e-3)
            bench.record("ib_write_lat", bench.latency_us("ib_write_lat", *GIDS, "-s", LATENCY_BYTES, "-n", "2000"))
    finally:
        bench.down("bench")


def report(bench):
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    lines = ["# Performance of RoCEv2", "",
             "Written by `bench/roce.py` (`make bench`): two hosts of a fabric on Ethernet, packets of 4096 bytes in UDP",
             f"datagrams on the loopback interface. Medians over {bench.rounds} interleaved rounds, extremes in brackets;",
             "ratios are of the best rounds.", "",
             f"Machine: {cpu}, {os.cpu_count()} cores, Linux {platform.release()}. Load average {bench.load:.1f} before,",
             f"{os.getloadavg()[0]:.1f} at the end; alone it would be about 2 at the end.", "",
             "| 64 KiB messages | GB/s | to TCP | goal |", "|---|---|---|---|",
             f"| TCP stream (qperf) | {bench.spread('tcp', 2)} | 1 | |"]
    for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
        ratio = bench.best(program) / bench.best("tcp")
        lines.append(f"| `{program}` | {bench.spread(program, 2)} | {ratio:.2f}× | {verdict(ratio >= TCP_RATIO_MIN)} |")
    lines += ["", f"One way latency of {LATENCY_BYTES} bytes: `ib_write_lat` {bench.spread('ib_write_lat', 1)} µs, "
              f"TCP {bench.spread('tcp latency', 1)} µs.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--base", default="127.54.0.0", help="where the hosts' addresses begin")
    parser.add_argument("--write", help="also write the report to this file")
    arguments = parser.parse_args()
    bench = Bench(arguments.build, arguments.rounds)
    try:
        measure(bench, arguments.base)
        text = report(bench)
    finally:
        shutil.rmtree(bench.runtime, ignore_errors=True)
    print(text)
    if arguments.write:
        Path(arguments.write).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
