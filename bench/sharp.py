#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures SHARP's all-reduce on the direct path against Open MPI's, in one run, as ratios.

Open MPI chooses its algorithm by its own tables (coll/tuned), over softib's verbs and over shared
memory. Rounds are interleaved as in run.py. If there are more ranks than processors, all of them
yield.
"""
import os
import re
import subprocess
import sys
import tempfile

from run import bench_main, machine_name, verdict

# Bytes, and the number of all-reduces in one measurement.
SIZES = {8: 2000, 1 << 10: 2000, 16 << 10: 1000, 64 << 10: 400, 256 << 10: 100, 1 << 20: 40}
MPI = {"verbs": {"OMPI_MCA_pml": "ucx", "UCX_TLS": "rc_v,self"},
       "shared": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"}}


def microseconds(output):
    return float(re.search(r"bytes (\S+) us", output)[1])


def sharp(bench, ranks, size):
    """Runs a program with each rank as a process on a host of its own. The ranks find each other in
    a folder."""
    with tempfile.TemporaryDirectory(prefix="softib-bench-meet-") as meeting:
        program = str(bench.build / "examples" / "sharp_allreduce")
        processes = [subprocess.Popen(
            [bench.softib, "exec", "-f", "bench", f"h{rank}", "--", program, meeting, str(rank),
             str(ranks), "time", str(size), str(SIZES[size])],
            env=bench.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for rank in range(ranks)]
        outputs = [process.communicate(timeout=300)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("sharp_allreduce: " + "".join(outputs))
    return microseconds(outputs[0])


def open_mpi(bench, ranks, size, way):
    env = dict(bench.env, UCX_LOG_LEVEL="error",
               OMPI_MCA_mpi_yield_when_idle="1" if ranks > os.cpu_count() else "0", **MPI[way])
    program = str(bench.build / "bench" / "mpi_allreduce.openmpi")
    return microseconds(bench.call(
        bench.softib, "mpirun", "-f", "bench", "-n", str(ranks), "--mpi", "openmpi", program,
        str(size), str(SIZES[size]), env=env, timeout=300))


def measure(bench, ranks):
    bench.load = os.getloadavg()[0]
    bench.up("bench", ranks)
    try:
        for r in range(bench.rounds):
            for size in SIZES:
                if sys.stderr.isatty():
                    print(f"\rround {r + 1} of {bench.rounds}, {size} bytes    ", end="",
                          file=sys.stderr, flush=True)
                bench.record(f"sharp {size}", sharp(bench, ranks, size))
                for way in MPI:
                    bench.record(f"{way} {size}", open_mpi(bench, ranks, size, way))
    finally:
        bench.down("bench")


def size_name(size):
    for unit, value in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= value:
            return f"{size // value} {unit}"
    return f"{size} B"


def report(bench, ranks):
    text = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"[0-9]+[.][0-9.]+", text)[0]
    lines = [
        "# Performance of SHARP", "",
        "Written by `bench/sharp.py` (`make bench`): all-reduce of floats (sum) in microseconds,",
        "every rank a process on a virtual host of its own. SHARP is `libsharp_coll` on the direct",
        "path ([ADR 26](adr/0026-members-add.md)); Open MPI's all-reduce is the one that its tuned",
        "tables choose, over softib's verbs (UCX, `rc_v`) and over shared memory (`vader`).",
        f"Medians over {bench.rounds} interleaved rounds, extremes in brackets; ratios are of",
        "medians.", "", f"Machine: {machine_name()}. Open MPI {version}.",
        f"Load average {bench.load:.1f} before, {os.getloadavg()[0]:.1f} at the end; alone it "
        f"would be about {min(ranks, os.cpu_count())} at the end.", "",
        f"## {ranks} ranks on {os.cpu_count()} processors", "",
        "Goal: SHARP at least as fast as both.", "",
        "| bytes | SHARP | Open MPI over verbs | Open MPI over shared memory "
        "| times faster than verbs | than shared memory | goal reached |", "|---" * 7 + "|"]
    ways = ("sharp", "verbs", "shared")
    for size in SIZES:
        ours, verbs, shared = (bench.median(f"{way} {size}") for way in ways)
        cells = [size_name(size), *(bench.spread(f"{way} {size}", 1) for way in ways),
                 f"{verbs / ours:.1f}×", f"{shared / ours:.1f}×",
                 verdict(ours <= min(verbs, shared))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines + [""])


def work(bench, arguments):
    measure(bench, arguments.ranks)
    return report(bench, arguments.ranks)


if __name__ == "__main__":
    sys.exit(bench_main(__doc__, work,
                        lambda parser: parser.add_argument("--ranks", type=int, default=8)))
