#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the live fabric against the machine and its peers, in one run, as ratios.

Rounds are interleaved (yardstick, softib, yardstick, softib, …), so that other work of the machine
disturbs both alike. A row shows the median and, in brackets, the extremes over the rounds.
"""
import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PORT = 18700


def machine_name():
    cpu = next(
        (line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.machine())
    return f"{cpu}, {os.cpu_count()} cores, Linux {platform.release()}"


def listens_by_tcp(port):
    wanted = f":{port:04X} "
    tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    return any(wanted in line and " 0A " in line for line in tables.splitlines())


class Bench:
    def __init__(self, build, rounds):
        self.build = Path(build).resolve()
        self.softib = str(self.build / "bin" / "softib")
        self.rounds = rounds
        self.port = PORT
        self.runtime = tempfile.mkdtemp(prefix="softib-bench-")
        self.env = dict(os.environ, SOFTIB_RUNTIME_DIR=self.runtime)
        self.values = {}
        # Fabric and host of servers, and of clients.
        self.places = (("bench", "h0"), ("bench", "h1"))

    def call(self, *command, env=None, timeout=120):
        result = subprocess.run(command, env=env or self.env, capture_output=True, text=True,
                                timeout=timeout)
        if result.returncode != 0:
            raise RuntimeError(
                f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
        return result.stdout

    def at(self, end, *command, flags=()):
        """Returns the command line that runs a command on the host of servers (0, on processor 0)
        or of clients (1)."""
        fabric, host = self.places[end]
        return [self.softib, "exec", "-f", fabric, *flags, host, "--", "taskset", "-c",
                str(end), *command]

    def pair(self, server, client, port, listens=listens_by_tcp):
        """Runs a server and, when it listens on its port, its client; returns the client's
        output."""
        process = subprocess.Popen(server, env=self.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and process.poll() is None and not listens(port):
                time.sleep(0.01)
            return self.call(*client)
        finally:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def perftest(self, program, *arguments):
        self.port += 1
        command = [program, "-d", "mlx5_0", "-F", "-p", str(self.port), *arguments]
        output = self.pair(self.at(0, *command), self.at(1, *command, "localhost"), self.port)
        rows = [line.split() for line in output.splitlines() if re.match(r"^\s*\d+\s+\d+\s", line)]
        if len(rows) != 1:
            raise RuntimeError(f"no result from {' '.join(command)}:\n{output}")
        return [float(v) for v in rows[0]]

    def latency_us(self, program, *arguments):
        return self.perftest(program, *arguments)[4]  # t_typical

    def bandwidth(self, program, *arguments):
        """Returns GB/s and million messages per second."""
        row = self.perftest(program, *arguments)
        return row[3] * 1.048576e-3, row[4]

    def machine(self, *arguments):
        return float(self.call(str(self.build / "bench" / "bench_machine"), *arguments))

    def ucx(self, test, size, transports):
        self.port += 1
        env = dict(self.env, UCX_TLS=transports, UCX_LOG_LEVEL="error")
        iterations = "200000" if size < 4096 else "20000"
        command = ["ucx_perftest", "-t", test, "-s", str(size), "-n", iterations, "-p",
                   str(self.port), "-f"]
        server = subprocess.Popen(["taskset", "-c", "0", *command], env=env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                result = subprocess.run(["taskset", "-c", "1", *command, "127.0.0.1"], env=env,
                                        capture_output=True, text=True, timeout=120)
                numbers = re.findall(r"^\s*(?:Final:)?\s*(\d+\s+[\d.]+\s.*)$", result.stdout, re.M)
                if numbers:
                    return [float(v) for v in numbers[-1].split()]
                time.sleep(0.05)
        finally:
            server.kill()
            server.wait()
        raise RuntimeError(f"ucx_perftest {test}: no result")

    def tcp(self, test, *options):
        self.port += 1
        server = ["taskset", "-c", "0", "qperf", "-lp", str(self.port)]
        process = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = ["taskset", "-c", "1", "qperf", "-lp", str(self.port), "-t", "1", "-v", "-uu",
                      *options, "127.0.0.1", test]
            for _ in range(100):
                result = subprocess.run(client, capture_output=True, text=True, timeout=60)
                match = re.search(r"(?:latency|bw)\s*=\s*([\d.e+]+)",
                                  result.stdout.replace(",", ""))
                if result.returncode == 0 and match:
                    return float(match.group(1))
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        raise RuntimeError(f"qperf {test}: no result")

    def record(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        return statistics.median(self.values[name])

    def best(self, name):
        return max(self.values[name])

    def spread(self, name, digits):
        values = self.values[name]
        return (f"{statistics.median(values):.{digits}f} "
                f"({min(values):.{digits}f}–{max(values):.{digits}f})")

    def up(self, name, hosts, *flags):
        start = time.monotonic()
        self.call(self.softib, "up", name, "--hosts", str(hosts), *flags)
        return time.monotonic() - start

    def down(self, name):
        self.call(self.softib, "down", name)


def measure(b):
    progress = sys.stderr.isatty()
    b.up("bench", 2)
    try:
        for r in range(b.rounds):
            if progress:
                print(f"\rround {r + 1} of {b.rounds}", end="", file=sys.stderr, flush=True)
            b.record("line", b.machine("pingpong") / 1000)
            b.record("write_lat", b.latency_us("ib_write_lat", "-s", "8", "-n", "100000"))
            b.record("send_lat", b.latency_us("ib_send_lat", "-s", "8", "-n", "100000"))
            b.record("read_lat", b.latency_us("ib_read_lat", "-s", "8", "-n", "100000"))
            b.record("atomic_lat", b.latency_us("ib_atomic_lat", "-n", "100000"))
            b.record("ucx_put_lat", b.ucx("ucp_put_lat", 8, "posix,self")[1])
            b.record("ucx_cma_put_lat", b.ucx("ucp_put_lat", 8, "cma,posix,self")[1])
            b.record("tcp_lat", b.tcp("tcp_lat") / 1000)  # qperf -uu: nanoseconds
            for size in (65536, 262144, 1048576):
                iterations = str((1 << 32) // size)
                b.record(f"memcpy {size}", b.machine("memcpy", str(size)))
                for op in ("write", "read", "send"):
                    b.record(f"{op} {size}",
                             b.bandwidth(f"ib_{op}_bw", "-s", str(size), "-n", iterations)[0])
            b.record("ucx_put_bw", b.ucx("ucp_put_bw", 65536, "posix,cma,self")[4] * 1.048576e-3)
            b.record("tcp_bw", b.tcp("tcp_bw", "-m", "64K") / 1e9)
            b.record("write_rate", b.bandwidth("ib_write_bw", "-s", "8", "-n", "1000000")[1])
            b.record("send_rate", b.bandwidth("ib_send_bw", "-s", "8", "-n", "500000")[1])
            with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
                file.truncate(1 << 20)
                row = b.bandwidth("ib_read_bw", "-s", "4096", "-n", "500000", f"--mmap={file.name}")
                b.record("file_reads", row[1])
            b.record("tcp_4k", b.tcp("tcp_bw", "-m", "4K") / 4096e6)
            for name, value in zip(("touch", "register", "deregister", "again"),
                                   verbs(b, "regions", "100000").split()):
                b.record(name, float(value))
            for qps in (1, 1000, 10000):
                each, memory = many_qps(b, qps)
                b.record(f"qps {qps}", each)
                b.record(f"qp_bytes {qps}", memory)
    finally:
        b.down("bench")
        if progress:
            print(file=sys.stderr)
    for hosts, flags in ((16, ()), (1000, ("--topology", "fat-tree"))):
        for _ in range(b.rounds):
            b.record(f"up {hosts}", b.up("bring-up", hosts, *flags))
            b.down("bring-up")


def verbs(b, *arguments, prefix=()):
    env = ["env", "SOFTIB_HOST=h0,h1"]
    return b.call(*b.at(0, *env, *prefix, str(b.build / "bench" / "bench_verbs"), *arguments),
                  timeout=600)


def many_qps(b, count):
    return [float(v) for v in verbs(b, "qps", str(count)).split()]


def count_by_function(file):
    """Returns the instructions of each function in a file of callgrind."""
    text = subprocess.run(["callgrind_annotate", "--threshold=100", file], capture_output=True,
                          text=True, check=True).stdout
    counts = {}
    for number, name in re.findall(r"^ *([\d,]+) \([ \d.]+%\)  (\S.*)$", text, re.M):
        name = re.sub(r"^[^ ]*?:(?!:)", "", name)  # The source file.
        name = re.sub(r"\(anonymous namespace\)::|softib::(\w+::)?|<softib[^(]*>", "", name)
        name = re.sub(r"(\(| \[).*", "", name).split(" ")[-1]
        counts[name] = counts.get(name, 0) + int(number.replace(",", ""))
    return counts


def instructions(b):
    """Returns the instructions of one post and its poll, whole and by function, for writes and for
    sends: the difference between two lengths of the same run."""
    if shutil.which("valgrind") is None:
        return None
    found = {}
    b.up("bench", 2, "--arena", "16G")
    try:
        for what in ("writes", "sends"):
            runs = []
            for count in (10000, 20000):
                with tempfile.NamedTemporaryFile() as out:
                    prefix = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}")
                    verbs(b, what, str(count), prefix=prefix)
                    runs.append(count_by_function(out.name))
            found[what] = {name: (n - runs[0].get(name, 0)) / 10000 for name, n in runs[1].items()}
    finally:
        b.down("bench")
    return found


def instruction_lines(counted):
    """Returns the table of instructions by function, without those below 10 a message."""
    lines = ["", "## Instructions", "",
             "Of one signaled request of 8 bytes, its receive request and its polls, by callgrind; "
             "the program's own", "(`main`, `write_once`, `send_once`, `poll_once`) included.", "",
             "| function | write | send |", "|---|---|---|"]
    rows = {what: {n: c for n, c in counted[what].items() if n != "TOTALS"} for what in counted}
    for name in sorted(set().union(*rows.values()), key=lambda n: -rows["sends"].get(n, 0)):
        values = [rows[what].get(name, 0) for what in ("writes", "sends")]
        if max(values) >= 10:
            lines.append(f"| `{name}` | {values[0]:.0f} | {values[1]:.0f} |")
    totals = [counted[what]["TOTALS"] for what in ("writes", "sends")]
    return [*lines, f"| all | {totals[0]:.0f} | {totals[1]:.0f} |"]


def verdict(ok):
    return "yes" if ok else "**no**"


def latency_lines(b):
    m = b.median
    lines = [
        "## Latency, 8 bytes, one way",
        "",
        "| what | µs | against the cache line | goal | reached |",
        "|---|---|---|---|---|",
        f"| cache line between two cores | {b.spread('line', 3)} | 1 | | |",
    ]
    for name, label, goal, limit in (
            ("write_lat", "`ib_write_lat`", "≤ 2× and < 0.5 µs", None),
            ("send_lat", "`ib_send_lat`", "≤ 2.5×", None),
            ("read_lat", "`ib_read_lat`", "< 1 µs", 1),
            ("atomic_lat", "`ib_atomic_lat` (fetch and add)", "< 1 µs", 1)):
        most = 2.5 if name == "send_lat" else 2
        ok = m(name) < limit if limit else m(name) <= most * m("line") and m(name) < 0.5
        lines.append(f"| {label} | {b.spread(name, 2)} | {m(name) / m('line'):.1f}× | {goal} | "
                     f"{verdict(ok)} |")
    for name, label in (
            ("ucx_put_lat", "UCX put, posix"), ("ucx_cma_put_lat", "UCX put, cma allowed"),
            ("tcp_lat", "TCP loopback (qperf)")):
        lines.append(f"| {label} | {b.spread(name, 2)} | {m(name) / m('line'):.1f}× | | |")
    return lines


def bandwidth_lines(b):
    lines = [
        "", "## Bandwidth, GB/s", "", "The ratios are of the best rounds, ours to memcpy's.", "",
        "| size | memcpy, one thread | `ib_write_bw` | `ib_read_bw` | `ib_send_bw` | goal | "
        "reached |",
        "|---|---|---|---|---|---|---|"]
    for size in (65536, 262144, 1048576):
        # Other work of the machine can only reduce bandwidth, so the best rounds are compared.
        ratios = {op: b.best(f"{op} {size}") / b.best(f"memcpy {size}")
                  for op in ("write", "read", "send")}
        cells = " | ".join(f"{b.spread(f'{op} {size}', 1)}, {ratios[op]:.2f}×"
                           for op in ("write", "read", "send"))
        ok = ratios["write"] >= 0.9 and ratios["read"] >= 0.9 and ratios["send"] >= 0.8
        lines.append(f"| {size // 1024} KiB | {b.spread(f'memcpy {size}', 1)} | {cells} | "
                     f"0.9×, 0.9×, 0.8× | {verdict(ok)} |")
    return lines


def report(b, counted):
    m = b.median
    lines = [
        "# Performance",
        "",
        "Written by `make bench` (`bench/run.py`): unmodified perftest between two hosts of a "
        "fabric, each side",
        "pinned to a core, against the machine itself and other transports "
        "**in the same run**. Medians over",
        f"{b.rounds} interleaved rounds, extremes in brackets. These are the speeds of shared "
        "memory, not of",
        "InfiniBand hardware.",
        "",
        f"Machine: {machine_name()}.",
        "",
        *latency_lines(b),
        *bandwidth_lines(b),
        "",
        f"In the same run, 64 KiB: UCX put over posix/cma {b.spread('ucx_put_bw', 1)}, "
        f"TCP loopback {b.spread('tcp_bw', 1)}.",
        "", "## Small messages and many queue pairs", "",
        "| what | value | goal | reached |", "|---|---|---|---|",
        f"| `ib_write_bw -s 8`, million messages a second | {b.spread('write_rate', 1)} | ≥ 10 | "
        f"{verdict(m('write_rate') >= 10)} |",
        f"| `ib_send_bw -s 8`, million messages a second | {b.spread('send_rate', 1)}, "
        f"{m('send_rate') / m('write_rate'):.2f}× of WRITE | ≥ 20, ≥ 0.5× | "
        f"{verdict(m('send_rate') >= max(20, 0.5 * m('write_rate')))} |"]
    if counted is not None:
        lines.append("| instructions for one post of a write and its poll (callgrind) | "
                     f"{counted['writes']['TOTALS']:.0f} | | |")
    one = m("qps 1")
    for qps in (1, 1000, 10000):
        ratio = m(f"qps {qps}") / one
        goal = "≤ 1.5×" if qps > 1 else ""
        reached = verdict(ratio <= 1.5) if qps > 1 else ""
        lines.append(f"| ns per write and poll, {qps} connections | {b.spread(f'qps {qps}', 0)}, "
                     f"{ratio:.2f}× | {goal} | {reached} |")
    ratio = m("file_reads") / m("tcp_4k")
    lines += ["| `ib_read_bw -s 4096 --mmap=FILE`, million reads a second | "
              f"{b.spread('file_reads', 2)}, {ratio:.1f}× of TCP | ≥ 2× | "
              f"{verdict(ratio >= 2)} |",
              "| TCP loopback in pieces of 4 KiB (qperf), million a second | "
              f"{b.spread('tcp_4k', 2)} | | |"]
    lines += instruction_lines(counted) if counted is not None else []
    lines += ["", "## Registration", "",
              "100,000 regions of a page, on every other page of a heap.", "",
              "| what | value | goal | reached |", "|---|---|---|---|",
              f"| to touch these pages, seconds | {b.spread('touch', 3)} | | |",
              f"| to register them, seconds | {b.spread('register', 2)}, "
              f"{m('register') / m('touch'):.1f}× | ≤ 2 | {verdict(m('register') <= 2)} |",
              f"| to deregister them, seconds | {b.spread('deregister', 2)} | | |",
              f"| to register one again, µs | {b.spread('again', 1)} | ≤ 20 | "
              f"{verdict(m('again') <= 20)} |",
              "", "## Memory", "", "| what | value |", "|---|---|"]
    lines += [
        f"| bytes of memory per connected queue pair | {m('qp_bytes 10000'):.0f} |", "",
        "## Bring-up", "", "| what | seconds | goal | reached |", "|---|---|---|---|",
        f"| `softib up`, 16 hosts | {b.spread('up 16', 3)} | < 0.3 | {verdict(m('up 16') < 0.3)} |",
        f"| `softib up`, 1,000 hosts, fat tree | {b.spread('up 1000', 3)} | < 3 | "
        f"{verdict(m('up 1000') < 3)} |", ""]
    return "\n".join(lines)


def bench_main(doc, work, add_arguments=lambda parser: None):
    """Reads the command line of a benchmark, and writes its report: work(bench, arguments) measures
    and returns it."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", help="also write the report to this file")
    add_arguments(parser)
    arguments = parser.parse_args()
    bench = Bench(arguments.build, arguments.rounds)
    try:
        text = work(bench, arguments)
    finally:
        shutil.rmtree(bench.runtime, ignore_errors=True)
    print(text)
    if arguments.write:
        Path(arguments.write).write_text(text)
    return 0


def work(bench, arguments):
    measure(bench)
    text = report(bench, instructions(bench))
    notes = (Path(arguments.write or "").with_name("performance-notes.md")
             if arguments.write else None)
    return text + (notes.read_text() if notes and notes.exists() else "")


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work))
