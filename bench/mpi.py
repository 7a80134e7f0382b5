#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures MPI and UCX over softib against UCX's shared memory and TCP, in one run, as ratios.

Programs and pinning are the same, only UCX_TLS differs. Rounds are interleaved as in run.py.
"""
import os
import re
import subprocess
import sys

from run import bench_main, machine_name, verdict

TRANSPORTS = {"softib": "rc_v,self", "softib-ud": "ud_v,self", "shm": "posix,sysv,cma,self",
              "tcp": "tcp,self"}
MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}
# Bytes and iterations.
UCX_TESTS = {"tag_lat": (8, 20000), "ucp_put_lat": (8, 20000), "ucp_am_lat": (8, 20000),
             "ucp_get": (8, 20000),
             "tag_bw": (1 << 20, 2000), "ucp_put_bw": (1 << 20, 2000), "ucp_am_bw": (1 << 20, 2000)}
NOTES = ["", "## How to read this", "",
         "- `ucp_put` and `ucp_get` are one-sided. In shared memory UCX maps the other side's "
         "memory: a get is a load, with",
         "  no queue in between. Half of the 0.10 µs over softib is UCX's own (perf), "
         "and that alone is 2×.",
         "- Over datagrams and over TCP UCX emulates a get by messages: about 1.1 ms each, "
         "on both alike.",
         "- Over datagrams UCX cuts 1 MiB into pieces of an MTU and acknowledges them itself.", ""]
LATENCY_RATIO_MAX, TCP_RATIO_MIN, BANDWIDTH_RATIO_MIN = 2, 10, 0.8


def environment(bench, transport):
    return dict(bench.env, UCX_TLS=TRANSPORTS[transport], UCX_LOG_LEVEL="error")


def mpi(bench, name, transport):
    """Returns the one-way latency of 8 bytes in microseconds, and the bandwidth of 1 MiB in
    GB/s."""
    program = bench.build / "bench" / f"mpi_pingpong.{name}"
    pinned = f"exec taskset -c ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} {program}"
    output = bench.call(bench.softib, "mpirun", "-f", "bench", "-n", "2", "--mpi", name, "sh", "-c",
                        pinned, env=environment(bench, transport))
    return [float(v) for v in re.search(r"latency_us (\S+) bandwidth_gbps (\S+)", output).groups()]


def ucx(bench, test, transport):
    """Returns microseconds, or GB/s for the tests of bandwidth."""
    bench.port += 1
    size, iterations = UCX_TESTS[test]
    iterations = (iterations // 20
                  if transport == "tcp" or test == "ucp_get" and transport == "softib-ud"
                  else iterations)
    command = ["env", f"UCX_TLS={TRANSPORTS[transport]}", "UCX_LOG_LEVEL=error", "ucx_perftest",
               "-t", test, "-s", str(size), "-n", str(iterations), "-w", str(iterations // 10),
               "-p", str(bench.port), "-f"]
    output = bench.pair(bench.at(0, *command), bench.at(1, *command, "127.0.0.1"), bench.port)
    numbers = re.findall(
        rf"^\s*(?:Final:)?\s*({iterations}(?:\s+[\d.]+)+)\s*$", output, re.M)[-1].split()
    return float(numbers[5]) * 1.048576e-3 if test.endswith("_bw") else float(numbers[1])


def measure(bench, mpis):
    bench.load = os.getloadavg()[0]
    bench.up("bench", 2)
    try:
        for r in range(bench.rounds):
            for transport in TRANSPORTS:
                if sys.stderr.isatty():
                    print(f"\rround {r + 1} of {bench.rounds}, {transport}    ", end="",
                          file=sys.stderr, flush=True)
                for name in mpis:
                    latency, bandwidth = mpi(bench, name, transport)
                    bench.record(f"{name} latency {transport}", latency)
                    bench.record(f"{name} bandwidth {transport}", bandwidth)
                for test in UCX_TESTS:
                    bench.record(f"{test} {transport}", ucx(bench, test, transport))
    finally:
        bench.down("bench")


def row(bench, label, key, bandwidth):
    # Other work of the machine can only reduce bandwidth, so the best rounds are compared.
    taken = bench.best if bandwidth else bench.median
    ours, shm, tcp = (taken(f"{key} {t}") for t in ("softib", "shm", "tcp"))
    cells = [bench.spread(f"{key} {t}", 2) for t in TRANSPORTS]
    if bandwidth:
        better, reached = ours / tcp, ours >= BANDWIDTH_RATIO_MIN * shm
    else:
        better, reached = (tcp / ours,
                           ours <= LATENCY_RATIO_MAX * shm and tcp >= TCP_RATIO_MIN * ours)
    return (f"| {label} | " + " | ".join(cells) +
            f" | {ours / shm:.2f}× | {better:.1f}× | {verdict(reached)} |")


def versions(mpis):
    found = [subprocess.run(["ucx_info", "-v"], capture_output=True, text=True)
             .stdout.splitlines()[0].replace("# Version", "UCX")]
    for name in mpis:
        text = subprocess.run([f"mpirun.{name}", "--version"], capture_output=True,
                              text=True).stdout
        found.append(f"{MPIS[name]} {re.search(r'[0-9]+[.][0-9.]+', text)[0]}")
    return ", ".join(found)


def report(bench, mpis):
    head = ("| what | softib, RC | softib, UD | UCX shared memory | UCX TCP | RC to shared memory "
            "| better than TCP | goal reached |")
    lines = ["# Performance of MPI and UCX", "",
             "Written by `bench/mpi.py` (`make bench`): the same programs between two hosts of a "
             "fabric, each side pinned to",
             "a core, with another `UCX_TLS`. Medians over "
             f"{bench.rounds} interleaved rounds, extremes in brackets; ratios are of",
             "medians for latency, of the best rounds for bandwidth.", "",
             f"Machine: {machine_name()}. {versions(mpis)}.",
             f"Load average {bench.load:.1f} before, {os.getloadavg()[0]:.1f} at the end; "
             "without other work it would be about 2 at the end.", "",
             "## Latency of 8 bytes, µs, one way", "",
             f"Goal: at most {LATENCY_RATIO_MAX}× that of shared memory, and {TCP_RATIO_MIN} times "
             "better than TCP.", "",
             head, "|---" * 8 + "|"]
    for name in mpis:
        lines.append(row(bench, f"{MPIS[name]} ping-pong", f"{name} latency", False))
    lines += [row(bench, f"`ucx_perftest -t {test}`", test, False)
              for test in UCX_TESTS if not test.endswith("_bw")]
    lines += ["", "## Bandwidth of 1 MiB, GB/s", "",
              f"Goal: at least {BANDWIDTH_RATIO_MIN}× that of shared memory.", "",
              head, "|---" * 8 + "|"]
    for name in mpis:
        lines.append(row(bench, f"{MPIS[name]}, 16 under way", f"{name} bandwidth", True))
    lines += [row(bench, f"`ucx_perftest -t {test}`", test, True)
              for test in UCX_TESTS if test.endswith("_bw")]
    return "\n".join(lines + NOTES)


def work(bench, _arguments):
    mpis = [name for name in MPIS if (bench.build / "bench" / f"mpi_pingpong.{name}").exists()]
    measure(bench, mpis)
    return report(bench, mpis)


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work))
