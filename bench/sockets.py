#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures programs that use rdma_cm, and sockets over RDMA, against TCP on the loopback \
interface, in one run.

rstream and iperf3 are the same programs on both sides. Rounds are interleaved as in run.py.
"""
import json
import os
import re
import sys

from run import bench_main, listens_by_tcp, machine_name, verdict

CONNECTIONS = 400
PINGS, PING_BYTES = 4000, 64
# Title, options, whether the time of a message is measured, or bandwidth.
PING_PONG = "ping-pong of 64 bytes, both spin"
STREAMS = (
    (PING_PONG, ("-S", "64", "-C", "1", "-I", "50000"), True),
    ("ping-pong of 64 bytes, both wait", ("-S", "64", "-C", "1", "-I", "20000", "-T", "b"), True),
    ("ping-pong of 64 bytes, both `poll`", ("-S", "64", "-C", "1", "-I", "20000", "-T", "a"), True),
    ("ping-pong of 4 KiB, both wait", ("-S", "4096", "-C", "1", "-I", "10000", "-T", "b"), True),
    ("many of 64 bytes, both spin", ("-S", "64", "-C", "200000", "-I", "1"), True),
    ("many of 64 bytes, both wait", ("-S", "64", "-C", "200000", "-I", "1", "-T", "b"), True),
    ("64 KiB", ("-S", "65536", "-C", "10000", "-I", "1", "-T", "b"), False),
    ("1 MiB", ("-S", "1048576", "-C", "1000", "-I", "1", "-T", "b"), False))
WRITES = (
    (PING_PONG, ("-S", "64", "-C", "1", "-I", "20000"), True),
    ("1 MiB", ("-S", "1048576", "-C", "1000", "-I", "1", "-T", "b"), False))
SETUP_STEPS = ("create id", "resolve addr", "resolve route", "create qp", "connect")
TCP_RATIO_MIN = 1.0
NOTES = [
    "", "## How to read this", "",
    "- A program that waits on a socket of ours spins for ten microseconds before it sleeps; "
    "on TCP it sleeps at once.",
    "- `riostream` writes into memory that its program took from the heap: each write is a system "
    "call of ours. The",
    "  other side spins on that memory, whatever way of waiting its flag asks for.",
    "- A ping of `rping` is four messages, an RDMA read and an RDMA write, one after the other, "
    "and each completion wakes",
    "  a thread of the program that wakes another. There and back over TCP two threads are woken.",
    "- For a connection of rdma_cm both programs make a dozen calls to the daemon and get five "
    "events from it, each with",
    "  somebody to wake: addresses, routes and attributes of queue pairs are asked for there, "
    "and REQ, REP and RTU",
    "  are MADs between managers that are in it. The kernel makes a connection of TCP in one call.",
    ""]


def listens_on_fabric(bench):
    def look(port):
        found = json.loads(bench.call(bench.softib, "addr", "-f", "bench", "--json"))["listeners"]
        return any(each["port"] == port for each in found)
    return look


def on_fabric(bench, server, client, flags=()):
    """Returns functions that make the commands of server and client from an address and a port."""
    bench.port += 1
    to = ("127.55.0.1", str(bench.port))
    return bench.pair(bench.at(0, *server(*to), flags=flags),
                      bench.at(1, *client(*to), flags=flags), bench.port, listens_on_fabric(bench))


def by_tcp(bench, server, client):
    bench.port += 1
    to = ("127.0.0.1", str(bench.port))
    return bench.pair(["taskset", "-c", "0", *server(*to)], ["taskset", "-c", "1", *client(*to)],
                      bench.port, listens_by_tcp)


def stream(bench, way, program, options, is_time):
    """Returns microseconds for a message, or GB/s."""
    def command(end):
        return lambda to, port: [program, *options, *(("-T", "s") if way is by_tcp else ()), end,
                                 to, "-p", port]

    output = way(bench, command("-b"), command("-s"))
    # Gb/s and microseconds come last.
    found = re.search(r"^custom .*s +([\d.]+) +([\d.]+)$", output, re.M)
    if found is None:
        raise RuntimeError(f"no result from {program} {' '.join(options)}:\n{output}")
    return float(found[2]) if is_time else float(found[1]) / 8


def iperf3(bench, way, *more):
    """Returns the GB/s that the receiver saw."""
    output = way(bench, lambda to, port: ["iperf3", "-s", "-1", "-B", to, "-p", port],
                 lambda to, port: ["iperf3", "-c", to, "-p", port, "-t", "1", "--json"], *more)
    return json.loads(output)["end"]["sum_received"]["bits_per_second"] / 8e9


def cmtime(bench):
    """Returns microseconds for a connection, by step."""
    def command(end):
        return lambda to, port: ["cmtime", end, to, "-p", port, "-c", str(CONNECTIONS)]

    output = on_fabric(bench, command("-b"), command("-s"))
    return {name: float(each)
            for name, each in re.findall(r"^([a-z ]+?) *:.* ([\d.]+)$", output, re.M)}


def rping(bench):
    """Returns microseconds for a ping, from the difference of two lengths, so that neither start
    nor connection counts."""
    def nanoseconds(count):
        def command(end):
            return lambda to, port: ["rping", end, "-a", to, "-p", port, "-C", str(count), "-S",
                                     str(PING_BYTES)]

        def timed(to, port):
            return ["sh", "-c",
                    f"start=$(date +%s%N) && {' '.join(command('-c')(to, port))} 2>/dev/null && "
                    "echo $(($(date +%s%N) - start))"]

        return int(on_fabric(bench, command("-s"), timed).split()[-1])

    return (nanoseconds(2 * PINGS) - nanoseconds(PINGS)) / PINGS * 1e-3


def measure(bench):
    bench.load = os.getloadavg()[0]
    bench.up("bench", 2)
    try:
        for r in range(bench.rounds):
            if sys.stderr.isatty():
                print(f"\rround {r + 1} of {bench.rounds}    ", end="", file=sys.stderr, flush=True)
            for title, options, is_time in STREAMS:
                for name, way in (("softib", on_fabric), ("tcp", by_tcp)):
                    bench.record(f"rstream {title} {name}",
                                 stream(bench, way, "rstream", options, is_time))
            for title, options, is_time in WRITES:
                bench.record(f"riostream {title}",
                             stream(bench, on_fabric, "riostream", options, is_time))
            bench.record("iperf3 softib", iperf3(bench, on_fabric, ("--rsockets",)))
            bench.record("iperf3 tcp", iperf3(bench, by_tcp))
            steps = cmtime(bench)
            bench.record("connect", steps["connect"])
            bench.record("setup", sum(steps[name] for name in SETUP_STEPS))
            bench.record("tcp connect", bench.machine("connect", str(CONNECTIONS)))
            bench.record("rping", rping(bench))
            # One way, in nanoseconds.
            bench.record("tcp ping", 2e-3 * bench.tcp("tcp_lat", "-m", str(PING_BYTES)))
    finally:
        bench.down("bench")


def row(bench, label, ours, tcp, is_time, goal=True):
    """Compares the best rounds, because other work of the machine can only reduce speed."""
    best = min if is_time else max
    ratio = best(bench.values[ours]) / best(bench.values[tcp])
    ratio = 1 / ratio if is_time else ratio
    reached = verdict(ratio >= TCP_RATIO_MIN) if goal else ""
    return (f"| {label} | {bench.spread(ours, 2)} | {bench.spread(tcp, 2)} | {ratio:.1f}× "
            f"| {reached} |")


def rows(bench, is_time):
    out = [row(bench, f"`rstream`, {title}", f"rstream {title} softib", f"rstream {title} tcp",
               is_time)
           for title, _, each_is_time in STREAMS if each_is_time == is_time]
    return out + [row(bench, f"`riostream`, {title}; TCP: `rstream`", f"riostream {title}",
                      f"rstream {title} tcp", is_time)
                  for title, _, each_is_time in WRITES if each_is_time == is_time]


def report(bench):
    head = "| what | softib | TCP | better than TCP | goal reached |"
    lines = [
        "# Performance of sockets and connections", "",
        "Written by `bench/sockets.py` (`make bench`): unmodified programs between two hosts of a "
        "fabric, each side",
        "pinned to a core, and over TCP on the loopback interface in the same run. "
        "`rstream` and `iperf3` are the same",
        f"programs on both sides. Medians over {bench.rounds} interleaved rounds, "
        "extremes in brackets; ratios are of the",
        f"best rounds. Goal: {TCP_RATIO_MIN:g}× TCP.", "",
        f"Machine: {machine_name()}. Load average {bench.load:.1f} before,",
        f"{os.getloadavg()[0]:.1f} at the end; without other work it would be about 2 at the end.",
        "",
        "## Time of a message, one way, µs", "", head, "|---" * 5 + "|", *rows(bench, True), "",
        "## Bandwidth, GB/s", "", head, "|---" * 5 + "|", *rows(bench, False),
        row(bench, "`iperf3`, with `softib exec --rsockets`", "iperf3 softib", "iperf3 tcp", False),
        "", "## Pings and connections, µs", "", head.replace("goal reached", " "), "|---" * 5 + "|",
        row(bench, f"`rping -S {PING_BYTES}`, a ping; TCP: there and back (qperf)", "rping",
            "tcp ping", True, False),
        row(bench, f"`cmtime -c {CONNECTIONS}`, its step \"connect\"; TCP: `connect` and `accept`",
            "connect", "tcp connect", True, False),
        row(bench, "`cmtime`, all steps to a connection", "setup", "tcp connect", True, False)]
    return "\n".join(lines + NOTES)


def work(bench, _arguments):
    measure(bench)
    return report(bench)


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work))
