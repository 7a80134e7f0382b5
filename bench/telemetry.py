#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what telemetry costs: on a large fabric, idle and busy, and for programs beside it.

    bench/telemetry.py [--hosts 10368] [--seconds 20] [--rounds 5] [--write FILE]
"""

import gzip
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from run import bench_main, machine_name, verdict

# The texts that Prometheus can get, each with a counter that is in it once for each port.
SCRAPES = {"names by node": ("exporter=node", rb"infiniband_\w+_port_transmit_packets_total"),
           "names by cable": ("exporter=cable", rb"infiniband_portxmitdata_total"),
           "names by cable, `counters=traffic`": ("exporter=cable&counters=traffic",
                                                  rb"infiniband_portxmitdata_total")}
SHAPE = ["--topology", "fat-tree", "--radix", "36", "--levels", "3"]
# The fabric that is sampled while another one, or the same, is measured. A sampler of another
# fabric takes the same share of the machine, but never asks the daemon that is measured. So the
# difference between the last two is what sampling does to the daemon.
WATCHED = {"nobody's": None, "its own": "bench", "another": "other"}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def on_cpu_us(pid):
    """Returns the time that a process has run, as the scheduler counts it."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e3


class Server:
    """A `softib serve` of a fabric."""

    def __init__(self, bench, fabric="bench"):
        self.process = subprocess.Popen([bench.softib, "serve", "-f", fabric, "--port", "0"],
                                        env=bench.env,
                                        text=True,
                                        stdout=subprocess.PIPE)
        self.url = re.search(r"(http://\S+)/", self.process.stdout.readline())[1]

    def readings(self):
        return json.loads(urllib.request.urlopen(self.url + "/api/v1/fabric").read())["number"]

    def share(self, seconds):
        """Returns the part of a core that a reading every second takes, even if some came late."""
        first, before = self.readings(), cpu_seconds(self.process.pid)
        time.sleep(seconds)
        used = cpu_seconds(self.process.pid) - before
        return used / max(1, self.readings() - first)

    def scrape(self, query, **headers):
        begin, before = time.monotonic(), cpu_seconds(self.process.pid)
        request = urllib.request.Request(f"{self.url}/metrics?{query}", headers=headers)
        text = urllib.request.urlopen(request, timeout=120).read()
        return time.monotonic() - begin, cpu_seconds(self.process.pid) - before, text

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure_fabric(bench, arguments, busy):
    """Measures sampling and scrapes of a large fabric. Returns the number of its ports."""
    name = "busy" if busy else "idle"
    traffic = None
    if busy:
        traffic = subprocess.Popen([
            str(bench.build / "bench" / "bench_busy_ports"), f"{bench.runtime}/bench",
            str(4 * arguments.seconds + 120)
        ])
    server = Server(bench)
    try:
        server.share(12)  # Until the first coarse slot of history is written.
        bench.record(f"{name} share", server.share(arguments.seconds))
        ports = 0
        for key, (query, counter) in SCRAPES.items():
            for _ in range(bench.rounds):
                for kind, headers in (("plain", {}), ("packed", {"Accept-Encoding": "gzip"})):
                    took, used, text = server.scrape(query, **headers)
                    bench.record(f"{name} {key} {kind} s", took)
                    bench.record(f"{name} {key} {kind} cpu", used)
                    bench.record(f"{name} {key} {kind} MB", len(text) / 1e6)
            lines = gzip.decompress(text)
            told = len(re.findall(rb"^" + counter + rb"\{", lines, re.MULTILINE))
            ports = max(ports, told)
            bench.record(f"{name} {key} memory", memory_mb(server.process.pid))
        return ports
    finally:
        server.end()
        if traffic:
            traffic.kill()
            traffic.wait()


def run_first(pid=0):
    """Lets a process run before all others on the machine. Returns whether that is allowed."""
    try:
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(10))
        return True
    except PermissionError:
        return False


def daemon_pid(bench):
    """Returns the pid of the daemon that is measured, and lets it run before all other processes,
    so that other work of the machine does not count as its latency."""
    pid = int(pathlib.Path(bench.runtime, "bench", "softibd.pid").read_text())
    bench.runs_first = run_first(pid)
    return pid


@contextmanager
def watched(bench, fabric):
    """Samples a fabric, if one is given, within a `with` block."""
    server = Server(bench, fabric) if fabric else None
    try:
        if server:
            server.share(2)  # The work of the start is over then.
        yield
    finally:
        if server:
            server.end()


def in_turns(bench):
    """Yields the names of WATCHED for all rounds, each round in another order, so that none always
    follows the same one."""
    names = list(WATCHED)
    for turn in range(bench.rounds):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            with watched(bench, WATCHED[name]):
                yield name


def measure_status(bench, name):
    """Measures how long a command that asks the daemon takes, and how long daemon and command run
    for it."""
    times, used = [], []
    daemon = daemon_pid(bench)
    before = on_cpu_us(daemon)
    for _ in range(40):
        begin = time.monotonic()
        process = subprocess.Popen([bench.softib, "sm", "-f", "bench", "status", "--json"],
                                   env=bench.env,
                                   preexec_fn=run_first,
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        times.append((time.monotonic() - begin) * 1e3)
        used.append((usage.ru_utime + usage.ru_stime) * 1e3)
    bench.record(f"status {name}", statistics.median(times))
    bench.record(f"status cpu {name}", statistics.median(used))
    bench.record(f"status daemon {name}", (on_cpu_us(daemon) - before) / len(times))


def measure_answers(bench, name, seconds):
    """Measures how long the daemon takes to answer, without a command around it."""
    daemon = daemon_pid(bench)
    before = on_cpu_us(daemon)
    asking = subprocess.run(
        [str(bench.build / "bench" / "bench_ask_daemon"), f"{bench.runtime}/bench", str(seconds)],
        preexec_fn=run_first,
        check=True,
        capture_output=True)
    median, late, _, count = (float(word) for word in asking.stdout.split())
    bench.record(f"answer {name}", median)
    bench.record(f"late answer {name}", late)
    bench.record(f"answer daemon {name}", (on_cpu_us(daemon) - before) / count)


def measure_neighbours(bench):
    """Measures programs beside a sampler, on a fabric of two hosts."""
    for fabric in ("bench", "other"):
        bench.up(fabric, 2)
    try:
        for name in in_turns(bench):
            bench.record(f"latency {name}",
                         bench.latency_us("ib_write_lat", "-s", "8", "-n", "100000"))
            measure_status(bench, name)
    finally:
        for fabric in ("bench", "other"):
            bench.down(fabric)


def measure_daemon(bench, arguments):
    """Measures the daemon of a large fabric."""
    for fabric in ("bench", "other"):
        bench.up(fabric, arguments.hosts, *SHAPE)
    try:
        for name in in_turns(bench):
            measure_answers(bench, name, 5)
    finally:
        for fabric in ("bench", "other"):
            bench.down(fabric)


def fabric_rows(bench, name):
    m = bench.median
    share = m(f"{name} share")
    rows = [
        f"| {name}: sampling, history | {share:.1%} of a core | < 30 % | {verdict(share < 0.3)} |"
    ]
    for key in SCRAPES:
        for kind, words in (("packed", "by gzip"), ("plain", "as plain text")):
            each = f"{name} {key} {kind}"
            # Choices with more counters than the default have a goal only for gzip.
            goal = kind == "packed" or "counters" not in key
            good = m(f"{each} s") < 1 and m(f"{each} MB") < 50
            rows.append(f"| {name}: a scrape of all ports, {key}, {words} "
                        f"| {bench.spread(f'{each} s', 2)} s, "
                        f"{m(f'{each} cpu'):.2f} s of CPU time, {m(f'{each} MB'):.1f} MB | "
                        + (f"< 1 s, < 50 MB | {verdict(good)} |" if goal else "| |"))
        memory = m(f"{name} {key} memory")
        rows.append(f"| {name}: memory so far, most | {memory:.0f} MB | < 500 MB "
                    f"| {verdict(memory < 500)} |")
    return rows


def neighbour_row(bench, what, name, digits):
    cells = [bench.spread(f"{name} {whose}", digits) for whose in WATCHED]
    alone, own, other = (bench.median(f"{name} {whose}") for whose in WATCHED)
    return f"| {what} | {' | '.join(cells)} | {own / alone:.2f} | {own / other:.2f} |"


def report(bench, arguments, ports):
    return "\n".join([
        "# What telemetry costs", "",
        f"Measured by `bench/telemetry.py` on {machine_name()}; {bench.rounds} rounds, medians "
        "with the extremes.", f"The machine's load was {os.getloadavg()[1]:.1f}.", "",
        f"A fat tree of {arguments.hosts:,} hosts, {ports:,} cabled ports, sampled every second. "
        "Busy: all its ports count data,", "packets and, one in ten, XmitWait between any two "
        "samples. `bench_busy_ports` makes them do so; no programs run.", "",
        "Prometheus asks for gzip. Each line of names by cable has both ends of the cable, 170 "
        "bytes; for a large fabric", "fewer are exported by default "
        "([which counters](api.md#metrics-and-csv)), and a client can request parts of it",
        "(`/metrics?num_shards=2&shard=0`).", "",
        "| what | measured | goal | reached |", "|---|---|---|---|", *fabric_rows(bench, "idle"),
        *fabric_rows(bench, "busy"), "",
        "## Beside it", "",
        "The same without a sampler, with a sampler of this fabric, and, as a control, with "
        "a sampler of another fabric of", "the same shape. The control takes the same share of "
        "cores, caches and memory, and the daemon that is measured",
        "does not know of it: the last column is what sampling does to the daemon, the column "
        "before it is that and the share", "of the machine. "
        + ("Daemon, command and asker have the scheduler's first place (SCHED_FIFO)."
           if bench.runs_first else "All of them share the machine with what else it does."), "",
        "| what | nobody | this fabric | another | this / nobody | this / another |",
        "|---|---|---|---|---|---|",
        neighbour_row(bench, "two hosts: `ib_write_lat -s 8`, us", "latency", 2),
        neighbour_row(bench, "two hosts: `softib sm status`, ms", "status", 1),
        neighbour_row(bench, "… its CPU time, ms", "status cpu", 2),
        neighbour_row(bench, "… CPU time of the daemon, us", "status daemon", 0),
        neighbour_row(bench, f"{arguments.hosts:,} hosts: an answer of the daemon, us, median",
                      "answer", 1),
        neighbour_row(bench, "… 99 of 100", "late answer", 1),
        neighbour_row(bench, "… CPU time of the daemon, us", "answer daemon", 1), ""
    ])


def work(bench, arguments):
    bench.up("bench", arguments.hosts, *SHAPE)
    try:
        measure_fabric(bench, arguments, busy=False)
        ports = measure_fabric(bench, arguments, busy=True)
    finally:
        bench.down("bench")
    measure_daemon(bench, arguments)
    measure_neighbours(bench)
    return report(bench, arguments, ports)


def add_arguments(parser):
    parser.add_argument("--hosts", type=int, default=10368)
    parser.add_argument("--seconds", type=int, default=20, help="that sampling is watched")


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work, add_arguments))
