#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what telemetry costs: a large fabric, idle and busy, and programs beside it.

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

from run import bench_main, machine_name, verdict

# The names that Prometheus can be given, each with a counter that every port has once.
EXPORTERS = {"node": rb"infiniband_\w+_port_transmit_packets_total",
             "cable": rb"infiniband_portxmitdata_total"}
SHAPE = ["--topology", "fat-tree", "--radix", "36", "--levels", "3"]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


class Server:
    """softib serve of the fabric "bench"."""

    def __init__(self, bench):
        self.process = subprocess.Popen([bench.softib, "serve", "-f", "bench", "--port", "0"],
                                        env=bench.env,
                                        text=True,
                                        stdout=subprocess.PIPE)
        self.url = re.search(r"(http://\S+)/", self.process.stdout.readline())[1]

    def readings(self):
        return json.loads(urllib.request.urlopen(self.url + "/api/v1/fabric").read())["number"]

    def share(self, seconds):
        """The part of a core that a reading every second takes, also where some came late."""
        first, before = self.readings(), cpu_seconds(self.process.pid)
        time.sleep(seconds)
        used = cpu_seconds(self.process.pid) - before
        return used / max(1, self.readings() - first)

    def scrape(self, exporter, **headers):
        begin, before = time.monotonic(), cpu_seconds(self.process.pid)
        request = urllib.request.Request(f"{self.url}/metrics?exporter={exporter}", headers=headers)
        text = urllib.request.urlopen(request, timeout=120).read()
        return time.monotonic() - begin, cpu_seconds(self.process.pid) - before, text

    def end(self):
        self.process.terminate()
        self.process.wait()


def measure_fabric(bench, arguments, busy):
    """Sampling and scrapes of a large fabric; returns its ports."""
    name = "busy" if busy else "idle"
    traffic = None
    if busy:
        traffic = subprocess.Popen([
            str(bench.build / "bench" / "bench_busy_ports"), f"{bench.runtime}/bench",
            str(4 * arguments.seconds + 120)
        ])
    server = Server(bench)
    try:
        server.share(12)  # The first coarse slot of history.
        bench.record(f"{name} share", server.share(arguments.seconds))
        for exporter, counter in EXPORTERS.items():
            for _ in range(bench.rounds):
                for kind, headers in (("plain", {}), ("packed", {"Accept-Encoding": "gzip"})):
                    took, used, text = server.scrape(exporter, **headers)
                    bench.record(f"{name} {exporter} {kind} s", took)
                    bench.record(f"{name} {exporter} {kind} cpu", used)
                    bench.record(f"{name} {exporter} {kind} MB", len(text) / 1e6)
            lines = gzip.decompress(text)
            ports = len(re.findall(rb"^" + counter + rb"\{", lines, re.MULTILINE))
            bench.record(f"{name} {exporter} memory", memory_mb(server.process.pid))
        return ports
    finally:
        server.end()
        if traffic:
            traffic.kill()
            traffic.wait()


def status_ms(bench):
    """How long the daemon takes to answer a command."""
    times = []
    for _ in range(20):
        begin = time.monotonic()
        bench.call(bench.softib, "sm", "-f", "bench", "status", "--json")
        times.append((time.monotonic() - begin) * 1e3)
    return statistics.median(times)


def measure_neighbours(bench):
    """The same with and without sampling, in turns."""
    bench.up("bench", 2)
    try:
        for _ in range(bench.rounds):
            for name in ("without", "with"):
                server = Server(bench) if name == "with" else None
                try:
                    bench.record(f"latency {name}",
                                 bench.latency_us("ib_write_lat", "-s", "8", "-n", "100000"))
                    bench.record(f"status {name}", status_ms(bench))
                finally:
                    if server:
                        server.end()
    finally:
        bench.down("bench")


def fabric_rows(bench, name):
    m = bench.median
    share = m(f"{name} share")
    rows = [
        f"| {name}: sampling, history | {share:.1%} of a core | < 30 % | {verdict(share < 0.3)} |"
    ]
    for exporter in EXPORTERS:
        for kind, words in (("packed", "by gzip"), ("plain", "as plain text")):
            key = f"{name} {exporter} {kind}"
            good = m(f"{key} s") < 1 and m(f"{key} MB") < 50
            rows.append(f"| {name}: a scrape of all ports, names by {exporter}, {words} "
                        f"| {bench.spread(f'{key} s', 2)} s, {m(f'{key} cpu'):.2f} s of CPU time, "
                        f"{m(f'{key} MB'):.1f} MB | < 1 s, < 50 MB | {verdict(good)} |")
        memory = m(f"{name} {exporter} memory")
        rows.append(f"| {name}: memory so far, most | {memory:.0f} MB | < 500 MB "
                    f"| {verdict(memory < 500)} |")
    return rows


def neighbour_row(bench, what, name, digits):
    without, beside = f"{name} without", f"{name} with"
    ratio = bench.median(beside) / bench.median(without)
    return (f"| {what} | {bench.spread(without, digits)} | {bench.spread(beside, digits)} "
            f"| {ratio:.2f} |")


def report(bench, arguments, ports):
    return "\n".join([
        "# What telemetry costs", "",
        f"Measured by `bench/telemetry.py` on {machine_name()}; {bench.rounds} rounds, medians "
        "with the extremes.", f"The machine's load was {os.getloadavg()[1]:.1f}.", "",
        f"A fat tree of {arguments.hosts:,} hosts, {ports:,} cabled ports, sampled every second. "
        "Busy: all its ports count data,", "packets and, one in ten, XmitWait between any two "
        "samples. `bench_busy_ports` makes them do so; no programs run.", "",
        "Prometheus asks for gzip. Labels by cable have both ends' names, 170 bytes, in each line: "
        "who wants less plain text", "takes parts of it (`/metrics?num_shards=2&shard=0`).", "",
        "| what | measured | goal | reached |", "|---|---|---|---|", *fabric_rows(bench, "idle"),
        *fabric_rows(bench, "busy"), "",
        "Programs beside it, on a fabric of two hosts, in turns with and without `softib serve`:",
        "", "| what | without | with | ratio |", "|---|---|---|---|",
        neighbour_row(bench, "`ib_write_lat -s 8`, us", "latency", 2),
        neighbour_row(bench, "`softib sm status`, ms", "status", 1), ""
    ])


def work(bench, arguments):
    bench.up("bench", arguments.hosts, *SHAPE)
    try:
        measure_fabric(bench, arguments, busy=False)
        ports = measure_fabric(bench, arguments, busy=True)
    finally:
        bench.down("bench")
    measure_neighbours(bench)
    return report(bench, arguments, ports)


def add_arguments(parser):
    parser.add_argument("--hosts", type=int, default=10368)
    parser.add_argument("--seconds", type=int, default=20, help="that sampling is watched")


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work, add_arguments))
