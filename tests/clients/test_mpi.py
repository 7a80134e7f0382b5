#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Open MPI and MPICH, unmodified, by softib mpirun: point-to-point, collectives and one-sided with
every byte compared (examples/mpi_check.cc), over UCX and over the fabric; a rank that dies; job
after job on one fabric."""

import json
import os
import pathlib
import platform
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Program, Report, find_build, skip
from subnet import expect

MPIS = {"openmpi": "Open MPI", "mpich": "MPICH"}
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
HOSTS = [f"h{i}" for i in range(4)]
COUNTERS = "/sys/class/infiniband/mlx5_0/ports/1/counters/"
JOBS = 3
JOBS_ALL = 20  # With --all.
DEPARTURE_S = 20
ARENA_SLACK_BLOCKS = 4096  # The tables of slots that are used for the first time stay.
TIMEOUT_S = 300  # MPICH's ranks never yield, and there may be fewer cores than ranks.


def check_program(mpi):
    return find_build() / "examples" / f"mpi_check.{mpi}"


def start(fabric, mpi, *words):
    argv = [fabric.softib, "mpirun", "-f", fabric.name, *words[:-1],
            str(check_program(mpi)), *words[-1]]
    program = Program(argv, argv, fabric.env)
    fabric.programs.append(program)
    return program


def run(fabric, mpi, *words):
    program = start(fabric, mpi, *words)
    result = program.wait(TIMEOUT_S)
    fabric.programs.remove(program)
    return result


def all_right(fabric, mpi, ranks, what=()):
    output = run(fabric, mpi, "-n", str(ranks), what).check().output
    expect(re.search(rf"^{ranks} ranks: [1-9]\d* checks, 0 wrong$", output, re.MULTILINE), output)
    return output


def counters(fabric, name):
    return {host: 4 * int(fabric.run(host, ["cat", COUNTERS + name]).check().output)
            for host in HOSTS}


def over_the_fabric(fabric, mpi):
    """One rank on each host. Every rank sends 1 MiB around the ring, so every port must count
    that."""
    before = {name: counters(fabric, name) for name in ("port_xmit_data", "port_rcv_data")}
    output = all_right(fabric, mpi, len(HOSTS))
    for name, old in before.items():
        for host, value in counters(fabric, name).items():
            expect(value - old[host] > 1 << 20,
                   f"{name} of {host} moved by {value - old[host]} bytes only")
    return output


def names(fabric, mpi):
    """Every rank has the name of its host, and with --real-hostname that of the machine."""
    output = run(fabric, mpi, "-n", "6", ["name"]).check().output
    found = sorted(re.findall(r"^rank (\d) is on (\S+), (\S+)$", output, re.MULTILINE))
    expect(found == [(str(i), HOSTS[i % 4], HOSTS[i % 4]) for i in range(6)], output)
    output = run(fabric, mpi, "-n", "2", "--real-hostname", ["name"]).check().output
    machine = platform.node()
    expect(len(re.findall(rf"is on {re.escape(machine)}, {re.escape(machine)}$", output,
                          re.MULTILINE)) == 2, output)
    return output


def programs(fabric):
    shown = fabric.command("status", "-f", fabric.name, "--json").check().output
    return json.loads(shown)["programs"]


def nobody_left(fabric):
    end = time.monotonic() + DEPARTURE_S
    while (left := programs(fabric)):
        expect(time.monotonic() < end, f"still attached: {left}")
        time.sleep(0.02)


def killed_rank(fabric, mpi):
    """The whole job ends with an error, and the next job works."""
    job = start(fabric, mpi, "-n", "4", ["forever"])
    job.wait_until(lambda: len(re.findall(r"is process", job.output())) == 4 and
                   len(programs(fabric)) == 4, "the start of all ranks", TIMEOUT_S)
    victim = int(re.search(r"rank 2 is process (\d+)", job.output())[1])
    os.kill(victim, signal.SIGKILL)
    result = job.wait(TIMEOUT_S)
    fabric.programs.remove(job)
    expect(not result.timed_out and result.status != 0, f"mpirun ended so: {result}")
    nobody_left(fabric)
    all_right(fabric, mpi, 4, ["brief"])
    return result


def daemon_state(fabric):
    """Returns the number of the daemon's descriptors, and the blocks of the arena."""
    pid = pathlib.Path(fabric.dir, fabric.name, "softibd.pid").read_text().strip()
    folder = pathlib.Path("/proc", pid, "fd")
    arena = next(entry for entry in folder.iterdir() if "softib-arena" in os.readlink(entry))
    return len(list(folder.iterdir())), os.stat(arena).st_blocks


def job_after_job(fabric, mpi, jobs):
    all_right(fabric, mpi, 2, ["brief"])
    nobody_left(fabric)
    descriptors, blocks = daemon_state(fabric)
    shared = set(os.listdir("/dev/shm"))
    for _ in range(jobs):
        all_right(fabric, mpi, 2, ["brief"])
    nobody_left(fabric)
    now_descriptors, now_blocks = daemon_state(fabric)
    expect(now_descriptors <= descriptors,
           f"the daemon had {descriptors} descriptors, now {now_descriptors}")
    expect(now_blocks <= blocks + ARENA_SLACK_BLOCKS,
           f"the arena had {blocks} blocks, now {now_blocks}")
    left = [name for name in set(os.listdir("/dev/shm")) - shared if "softib" in name]
    expect(not left, f"in /dev/shm: {left}")
    known = pathlib.Path(fabric.dir, fabric.name, "proc")
    expect(not known.exists() or not list(known.iterdir()),
           f"left of programs: {list(known.iterdir())}")
    return f"descriptors {descriptors}, {now_descriptors}; blocks {blocks}, {now_blocks}"


def main():
    report = Report("mpi", all="more jobs one after the other")
    jobs = JOBS_ALL if report.args.all else JOBS
    found = [mpi for mpi in MPIS if check_program(mpi).exists()]
    if not found:
        skip("no MPI was found when softib was built; run 'make deps', then build again")
    for mpi in found:
        with Fabric(*TREE) as fabric:
            report.case(MPIS[mpi], "all checks, a rank a host, over the fabric",
                        lambda: over_the_fabric(fabric, mpi))
            report.case(MPIS[mpi], "the names of ranks' hosts", lambda: names(fabric, mpi))
            report.case(MPIS[mpi], "a killed rank ends the job, not the fabric",
                        lambda: killed_rank(fabric, mpi))
            report.case(MPIS[mpi], f"{jobs} jobs leave nothing behind",
                        lambda: job_after_job(fabric, mpi, jobs))
        with Fabric("--hosts", "2", "--hcas", "2") as fabric:
            report.case(MPIS[mpi], "two ranks a host, two adapters",
                        lambda: all_right(fabric, mpi, 4, () if report.args.all else ["brief"]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
