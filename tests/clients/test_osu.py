#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The OSU micro-benchmarks, with their check of the data, by softib mpirun: from the folder that
SOFTIB_OSU names (of version 6 or newer, built with any MPI that softib mpirun knows)."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Program, Report, skip

PAIRS = ["osu_latency", "osu_bw", "osu_bibw", "osu_multi_lat", "osu_mbw_mr"]
COLLECTIVES = ["osu_allgather", "osu_allgatherv", "osu_alltoall", "osu_alltoallv", "osu_bcast",
               "osu_gather", "osu_scatter", "osu_ibcast", "osu_ialltoall"]
# With bytes, its default, 7.4 reports wrong sums over shared memory and TCP as well.
SUMS = ["osu_allreduce", "osu_reduce", "osu_reduce_scatter", "osu_iallreduce"]
WITHOUT_DATA = ["osu_barrier", "osu_init"]
ONE_SIDED = ["osu_put_latency", "osu_get_latency", "osu_put_bw", "osu_get_bw", "osu_acc_latency",
             "osu_fop_latency", "osu_cas_latency"]
TIMEOUT_S = 300


def find(folder, name):
    for path in folder.rglob(name):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise Failure(f"no {name} below {folder}")


def run(fabric, folder, ranks, name, *options):
    argv = [fabric.softib, "mpirun", "-f", fabric.name, "-n", str(ranks),
            str(find(folder, name)), *options]
    program = Program(argv, argv, fabric.env)
    fabric.programs.append(program)
    result = program.wait(TIMEOUT_S).check()
    fabric.programs.remove(program)
    if not re.search(
            r"^[\d.]+ +[\d.]+|: [\d.]+ ms", result.output, re.MULTILINE) and name != "osu_barrier":
        raise Failure(f"no results\n{result}")
    return result


def checked(fabric, folder, ranks, name, *options):
    """Each line ends with the verdict on its data."""
    result = run(fabric, folder, ranks, name, "-c", *options)
    lines = [line for line in result.output.splitlines() if re.match(r"\d", line)]
    wrong = [line for line in lines if not line.rstrip().endswith("Pass")]
    if wrong or not lines:
        raise Failure(f"{len(wrong)} of {len(lines)} lines do not pass\n{result}")
    return result


def main():
    report = Report("osu")
    if "SOFTIB_OSU" not in os.environ:
        skip("SOFTIB_OSU names no folder with osu_latency and the like")
    folder = pathlib.Path(os.environ["SOFTIB_OSU"])
    with Fabric("--hosts", "4", "--topology", "fat-tree", "--radix", "4") as fabric:
        few = ("-i", "20", "-x", "2")
        for name in PAIRS:
            report.case("2 ranks", name,
                        lambda: checked(fabric, folder, 2, name, *few, "-m", "1:1048576"))
        for name in COLLECTIVES:
            report.case("4 ranks", name,
                        lambda: checked(fabric, folder, 4, name, *few, "-m", "4:65536"))
        for name in SUMS:
            report.case("4 ranks", name, lambda: checked(
                fabric, folder, 4, name, *few, "-m", "4:65536", "-T", "mpi_int"))
        for name in WITHOUT_DATA:
            report.case("4 ranks", name, lambda: run(fabric, folder, 4, name))
        for name in ONE_SIDED:
            report.case("2 ranks", name, lambda: run(fabric, folder, 2, name, *few))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
