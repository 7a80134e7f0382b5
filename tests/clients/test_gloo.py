#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Gloo, unmodified, over its ibverbs transport: all-reduce in four ways, all-gather, reduce-scatter
and broadcast among 2 to 8 ranks, every element compared (examples/gloo_allreduce.cc)."""

import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, find_build, skip
from subnet import expect

RANKS = (2, 3, 4, 8)
BYTES_MIN = 100000 * 8  # Of the largest all-reduce alone.
COUNTER = "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"
TIMEOUT_S = 120


def sent(fabric, host):
    return 4 * int(fabric.run(host, ["cat", COUNTER]).check().output)


def collectives(fabric, program, ranks):
    hosts = [f"h{rank}" for rank in range(ranks)]
    before = {host: sent(fabric, host) for host in hosts}
    with tempfile.TemporaryDirectory(prefix="softib-gloo-") as folder:
        started = [fabric.start(host, [str(program), str(rank), str(ranks), folder])
                   for rank, host in enumerate(hosts)]
        results = [each.wait(TIMEOUT_S) for each in started]
    for rank, (each, result) in enumerate(zip(started, results)):
        fabric.programs.remove(each)
        wanted = rf"^rank {rank} of {ranks}: [1-9]\d* checks, 0 wrong$"
        if result.timed_out or result.status != 0 or not re.search(
                wanted, result.output, re.MULTILINE):
            raise Failure("\n".join(map(str, results)))
    for host, old in before.items():
        moved = sent(fabric, host) - old
        expect(moved > BYTES_MIN, f"only {moved} bytes left {host}")
    return results[0]


def main():
    report = Report("gloo")
    program = find_build() / "examples" / "gloo_allreduce"
    if not program.exists():
        skip("Gloo was not found when softib was built; run 'make deps', then build again")
    with Fabric("--hosts", str(max(RANKS)), "--topology", "fat-tree", "--radix", "4") as fabric:
        for ranks in RANKS:
            report.case("collectives", f"{ranks} ranks",
                        lambda: collectives(fabric, program, ranks))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
