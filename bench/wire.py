#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures live packets against TCP on the loopback interface, in one run: InfiniBand packets \
over a switch,
InfiniBand packets over a trunk between two fabrics, and RoCEv2 packets in UDP datagrams.

Rounds are interleaved as in run.py. All packets of a fabric go through one thread of its carrier.
"""
import contextlib
import os
import secrets
import sys
import time
from pathlib import Path

from run import bench_main, machine_name, verdict

GIDS = ("-x", "0")
TCP_RATIO_MIN = 1.0
PACKET_GBPS_MIN = 1.5
PROGRAMS = ("ib_write_bw", "ib_send_bw", "ib_send_bw -e", "ib_read_bw")
LATENCY_BYTES = "8"


WAYS = ("packets", "trunk", "RoCEv2")
NAMES = {"packets": "in packets", "trunk": "over a trunk", "RoCEv2": "as RoCEv2"}


@contextlib.contextmanager
def one_fabric(bench, *flags):
    bench.up("bench", 2, *flags)
    try:
        yield
    finally:
        bench.down("bench")


@contextlib.contextmanager
def two_fabrics(bench, base):
    """Brings two fabrics up with a trunk between them: servers are in one, clients in the other."""
    key = Path(bench.runtime, "trunk.key")
    key.write_text(secrets.token_hex(16))
    key.chmod(0o600)
    bench.port += 4  # Two UDP ports for each fabric.
    ends = [f"{base.rsplit('.', 1)[0]}.{n}:{bench.port}" for n in (1, 2)]
    before = bench.places
    bench.places = (("bench", "h0"), ("bench2", "h0"))
    up = []
    try:
        for site, (fabric, _) in enumerate(bench.places):
            bench.up(fabric, 1, "--data-path", "packet", "--site", str(site + 1), "--trunk-key",
                     str(key), "--trunk", f"sw0={ends[site]},{ends[1 - site]}")
            up.append(fabric)
        wait_for_trunk(bench)
        yield
    finally:
        bench.places = before
        for fabric in up:
            bench.down(fabric)


def wait_for_trunk(bench):
    """Waits until one subnet manager has found both hosts."""
    end = time.monotonic() + 30
    while sum(line.startswith("Ca")
              for line in bench.call(*bench.at(0, "ibnetdiscover")).splitlines()) < 2:
        if time.monotonic() > end:
            raise RuntimeError("the fabrics did not become one subnet")
        time.sleep(0.2)
    time.sleep(1)  # The manager writes routes after that.


def measure(bench, base):
    bench.load = os.getloadavg()[0]
    ways = {"packets": ((), lambda: one_fabric(bench, "--data-path", "packet")),
            "trunk": ((), lambda: two_fabrics(bench, base)),
            "RoCEv2": (GIDS, lambda: one_fabric(bench, "--link-layer", "ethernet",
                                                "--roce-address-base", base))}
    for r in range(bench.rounds):
        if sys.stderr.isatty():
            print(f"\rround {r + 1} of {bench.rounds}    ", end="", file=sys.stderr, flush=True)
        for way, (words, fabrics) in ways.items():
            with fabrics():
                bench.record("tcp", bench.tcp("tcp_bw", "-m", "65536") * 1e-9)
                bench.record("tcp latency", bench.tcp("tcp_lat", "-m", LATENCY_BYTES) * 1e-3)
                for program in PROGRAMS:
                    bench.record(
                        f"{way} {program}",
                        bench.bandwidth(*program.split(), *words, "-s", "65536", "-n", "10000")[0])
                bench.record(
                    f"{way} latency",
                    bench.latency_us("ib_write_lat", *words, "-s", LATENCY_BYTES, "-n", "2000"))


def report(bench):
    lines = ["# Performance of live packets", "",
             "Written by `bench/wire.py` (`make bench`): two hosts and packets of 4096 bytes, "
             "over a switch of a fabric",
             "(`--data-path packet`), over a trunk between two fabrics (`--trunk`) or as RoCEv2 "
             "(`--link-layer ethernet`),",
             "the last two in UDP datagrams on the loopback interface. A trunk has a process at "
             "either end; on two cores",
             "they share one while the client spins on the other. With `-e` it sleeps until "
             "a completion comes.", "",
             f"Medians over {bench.rounds} interleaved rounds, extremes in brackets; "
             "goals are compared with the best rounds.", "",
             f"Machine: {machine_name()}. Load average {bench.load:.1f} before,",
             f"{os.getloadavg()[0]:.1f} at the end; "
             "without other work it would be about 2 at the end.", "",
             "| 64 KiB messages | GB/s | to TCP | goal |", "|---|---|---|---|",
             f"| TCP stream (qperf) | {bench.spread('tcp', 2)} | 1 | |"]
    for way in WAYS:
        for program in PROGRAMS:
            best = bench.best(f"{way} {program}")
            ratio = best / bench.best("tcp")
            goal = ""
            if program == "ib_write_bw":
                goal = (f"{PACKET_GBPS_MIN} GB/s: {verdict(best >= PACKET_GBPS_MIN)}"
                        if way == "packets"
                        else f"{TCP_RATIO_MIN}×: {verdict(ratio >= TCP_RATIO_MIN)}")
            lines.append(f"| {way}: `{program}` | {bench.spread(f'{way} {program}', 2)} | "
                         f"{ratio:.2f}× | {goal} |")
    latencies = ", ".join(f"{bench.spread(f'{way} latency', 1)} µs {NAMES[way]}" for way in WAYS)
    lines += ["",
              f"One way latency of {LATENCY_BYTES} bytes, of programs that both spin beside "
              f"the carriers on {os.cpu_count()} cores: `ib_write_lat` {latencies}; "
              f"TCP {bench.spread('tcp latency', 1)} µs.", ""]
    return "\n".join(lines)


def work(bench, arguments):
    measure(bench, arguments.base)
    return report(bench)


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work, lambda parser: parser.add_argument(
        "--base", default="127.54.0.0", help="where the hosts' addresses begin")))
