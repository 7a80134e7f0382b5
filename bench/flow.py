#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the flow model: what messages cost, and how far it is from the packet model. Writes the
tables of docs/flow-model.md, each between two marks."""
import argparse
import subprocess
import sys
from pathlib import Path

# Title, arguments of bench_flow, number of messages, most CPU seconds.
WORKS = (("all-to-all of 1,024 hosts, 64 KiB each, 2 levels of 64 ports",
          "all-to-all 1024 64 2 65536 ftree", 1_047_552, 3),
         ("the same, 3 levels of 16 ports", "all-to-all 1024 16 3 65536 ftree", 1_047_552, 3),
         ("all-reduce of 1 GB a rail by rings, 3,072 hosts with 8 rails, 3 levels of 64 ports",
          "ring 3072 8 64 3 1000000000", 150_945_792, 10),
         ("permutation of 8,192 hosts, 2 MB, 3 levels of 32 ports",
          "permutation 8192 32 3 2000000 ftree", 8192, None),
         ("permutation of 24,576 hosts, 2 MB, 3 levels of 48 ports",
          "permutation 24576 48 3 2000000 ftree", 24576, None),
         ("64 messages of 1 MB from each of 256 hosts to random others, full load, "
          "2 levels of 32 ports",
          "random 256 32 2 1000000 ftree", 16384, None),
         ("the same, events of a microsecond as one",
          "random 256 32 2 1000000 ftree 1000000", 16384, None))
COLUMNS = ("messages", "steps", "settled", "setup", "cpu", "mib", "last", "hash")


def measure(build, arguments, runs):
    results = []
    for _ in range(runs):
        done = subprocess.run([f"{build}/bench/bench_flow", *arguments.split()],
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        results.append(dict(zip(COLUMNS, done.stdout.split())))
    if len({r["hash"] for r in results}) != 1:
        raise RuntimeError("the same run has given different results")
    return min(results, key=lambda r: float(r["cpu"]))


def speed_table(build, runs):
    lines = ["| work | messages | steps | routes, CPU s | model, CPU s | goal | MiB | simulated |",
             "|---|---|---|---|---|---|---|---|"]
    for name, arguments, messages, goal in WORKS:
        r = measure(build, arguments, runs)
        if int(r["messages"]) != messages:
            raise RuntimeError(f"{name}: {r['messages']} messages instead of {messages}")
        lines.append(f"| {name} | {messages:,} | {int(r['steps']):,} | {float(r['setup']):.2f} | "
                     f"{float(r['cpu']):.2f} | {'' if goal is None else f'≤ {goal}'} | "
                     f"{float(r['mib']):.0f} | {float(r['last']) / 1000:.2f} ms |")
    return lines


def accuracy_table(build):
    done = subprocess.run([f"{build}/bench/bench_flow_accuracy"],
                          capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return ["| case | mean, packets | flows | error | last, packets | flows | error | "
            "CPU ms, packets | flows |",
            "|---|---|---|---|---|---|---|---|---|", *done.stdout.splitlines()]


def put(text, name, lines):
    """Replaces the text between the marks of a table."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    head, rest = text.split(begin)
    return head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write",
                        help="a file that has the marks; without it the tables are printed")
    arguments = parser.parse_args()
    tables = {"accuracy": accuracy_table(arguments.build),
              "speed": speed_table(arguments.build, arguments.runs)}
    for lines in tables.values():
        print("\n".join(lines) + "\n")
    if arguments.write:
        path = Path(arguments.write)
        text = path.read_text()
        for name, lines in tables.items():
            text = put(text, name, lines)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
