#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures how many questions a second the planner answers to a program in Python. Writes
docs/performance-planner.md."""
import argparse
import itertools
import os
import sys
import time
from pathlib import Path

from run import machine_name

QUESTIONS = 1000
GOAL_S = 5


def first(points, count):
    """Returns `count` points, the same ones again if there are fewer."""
    return list(itertools.islice(itertools.cycle(points), count))


def grid(**values):
    """Returns a dictionary of keywords for each combination."""
    return [dict(zip(values, each)) for each in itertools.product(*values.values())]


def sets(softib):
    """Returns what is asked: a name, and a dictionary of keywords for each question."""
    dense = {"model": softib.Model.preset("llama3.1-70b"),
             "cluster": softib.Cluster.preset("superpod-h100")}
    experts = {"model": softib.Model.preset("deepseek-v3"),
               "cluster": softib.Cluster.preset("h800-2048"),
               "precision": "fp8-block", "uneven": True}
    batches = [{"batch": 1024 * (i + 1)} for i in range(20)]
    of_dense = grid(tp=(2, 4, 8), pp=(4, 8, 16), cp=(1, 2), micro_batch=(1, 2),
                    batch=(2048, 4096, 8192, 16384))
    of_experts = grid(tp=(1, 2, 4), pp=(8, 16), ep=(8, 16, 32, 64), micro_batch=(1, 2),
                      batch=(2048, 4096, 8192, 16384))
    clusters = [softib.Cluster.preset("hgx-h100", nodes=16 * nodes, topology="fat-tree",
                                      oversubscription=f"{down}:4")
                for nodes, down in itertools.product((1, 2, 4, 8), (4, 5, 6, 7, 8))]
    return [
        ("Llama 3.1 70B on 2,048 H100, batches", [
            {**dense, "tp": 8, "pp": 4, **each} for each in first(batches, QUESTIONS)]),
        ("DeepSeek-V3 on 2,048 H800, batches", [
            {**experts, "pp": 16, "ep": 64, **each} for each in first(batches, QUESTIONS)]),
        ("Llama 3.1 70B on 2,048 H100, mappings", [
            {**dense, **each} for each in first(of_dense, QUESTIONS)]),
        ("DeepSeek-V3 on 2,048 H800, mappings", [
            {**experts, **each} for each in first(of_experts, QUESTIONS)]),
        ("Llama 3.1 70B, each time another of 20 clusters of 128 to 1,024 H100", [
            {**dense, "cluster": each, "tp": 8, "pp": 2, "batch": 1024}
            for each in first(clusters, QUESTIONS)]),
    ]


def ask_all(softib, questions):
    """Returns CPU seconds, wall seconds, and how many questions had no answer."""
    refused = 0
    cpu, wall = time.process_time(), time.monotonic()
    for each in questions:
        try:
            softib.plan.train(**each)
        except softib.Error:
            refused += 1
    return time.process_time() - cpu, time.monotonic() - wall, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--write", help="also write the report to this file")
    arguments = parser.parse_args()
    os.environ["SOFTIB_PREFIX"] = str(Path(arguments.build).resolve())
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))
    import softib
    lines = [
        "# Performance of the planner", "",
        "Written by `make bench` (`bench/planner.py`). `softib.plan.train` is asked for "
        f"{QUESTIONS:,} steps, one after the", "other in one process of Python, with its interval, "
        "exchanges on the flow model; each kind begins with the fabrics", "that the kinds before "
        "it left. CPU seconds of the process, from objects in Python to answers in Python.", "",
        f"Machine: {machine_name()}.", "",
        "| what | CPU | questions a second of CPU | goal | reached | refused, as they do not fit |",
        "|---|---|---|---|---|---|"]
    for name, questions in sets(softib):
        cpu, _, refused = ask_all(softib, questions)
        lines.append(f"| {name} | {cpu:.2f} s | {len(questions) / cpu:,.0f} | ≤ {GOAL_S} s | "
                     f"{'yes' if cpu <= GOAL_S else '**no**'} | {refused} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        Path(arguments.write).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
