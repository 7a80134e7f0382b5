#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures live packets against TCP on the loopback interface, in one run: InfiniBand's over a switch of
ours, and RoCEv2's in UDP datagrams.

Rounds are interleaved as in run.py. All packets go through one thread, the carrier's.
"""
import os
import platform
import sys
from pathlib import Path

from run import bench_main, verdict

GIDS = ("-x", "0")
TCP_RATIO_MIN = 1.0
PACKET_GBPS_MIN = 1.5
PROGRAMS = ("ib_write_bw", "ib_send_bw", "ib_read_bw")
LATENCY_BYTES = "8"


def measure(bench, base):
    bench.load = os.getloadavg()[0]
    ways = {"packets": ((), ("--data-path", "packet")),
            "RoCEv2": (GIDS, ("--link-layer", "ethernet", "--roce-address-base", base))}
    for r in range(bench.rounds):
        if sys.stderr.isatty():
            print(f"\rround {r + 1} of {bench.rounds}    ", end="", file=sys.stderr, flush=True)
        for way, (words, flags) in ways.items():
            bench.up("bench", 2, *flags)
            try:
                bench.record("tcp", bench.tcp("tcp_bw", "-m", "65536") * 1e-9)
                bench.record("tcp latency", bench.tcp("tcp_lat", "-m", LATENCY_BYTES) * 1e-3)
                for program in PROGRAMS:
                    bench.record(f"{way} {program}",
                                 bench.bandwidth(program, *words, "-s", "65536", "-n", "10000")[0])
                bench.record(f"{way} latency",
                             bench.latency_us("ib_write_lat", *words, "-s", LATENCY_BYTES, "-n", "2000"))
            finally:
                bench.down("bench")


def report(bench):
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    lines = ["# Performance of live packets", "",
             "Written by `bench/wire.py` (`make bench`): two hosts and packets of 4096 bytes, either over a switch of a",
             "fabric (`--data-path packet`) or as RoCEv2 in UDP datagrams on the loopback interface (`--link-layer",
             f"ethernet`). Medians over {bench.rounds} interleaved rounds, extremes in brackets; goals are held against the",
             "best rounds.", "",
             f"Machine: {cpu}, {os.cpu_count()} cores, Linux {platform.release()}. Load average {bench.load:.1f} before,",
             f"{os.getloadavg()[0]:.1f} at the end; alone it would be about 2 at the end.", "",
             "| 64 KiB messages | GB/s | to TCP | goal |", "|---|---|---|---|",
             f"| TCP stream (qperf) | {bench.spread('tcp', 2)} | 1 | |"]
    for way in ("packets", "RoCEv2"):
        for program in PROGRAMS:
            best = bench.best(f"{way} {program}")
            ratio = best / bench.best("tcp")
            goal = ""
            if program == "ib_write_bw":
                goal = (f"{PACKET_GBPS_MIN} GB/s: {verdict(best >= PACKET_GBPS_MIN)}" if way == "packets"
                        else f"{TCP_RATIO_MIN}×: {verdict(ratio >= TCP_RATIO_MIN)}")
            lines.append(f"| {way}: `{program}` | {bench.spread(f'{way} {program}', 2)} | {ratio:.2f}× | {goal} |")
    lines += ["", f"One way latency of {LATENCY_BYTES} bytes, of programs that both spin, with the carrier as a third on "
              f"{os.cpu_count()} cores: `ib_write_lat` {bench.spread('packets latency', 1)} µs in packets, "
              f"{bench.spread('RoCEv2 latency', 1)} µs as RoCEv2; TCP {bench.spread('tcp latency', 1)} µs.", ""]
    return "\n".join(lines)


def work(bench, arguments):
    measure(bench, arguments.base)
    return report(bench)


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work, lambda parser: parser.add_argument(
        "--base", default="127.54.0.0", help="where the hosts' addresses begin")))
