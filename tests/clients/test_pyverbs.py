#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The vendor-neutral part of rdma-core's own test suite, as Debian ships it, each case on one host.

Each case runs in a process of its own, so that a crash or a hang costs one case. It fails when
fewer than PASS_MIN cases pass, when one crashes or hangs, or when one that pyverbs_expected.txt
lists as passing does not pass any more.
"""

import argparse
import concurrent.futures
import gzip
import pathlib
import queue
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, skip, write_results

SHIPPED = pathlib.Path("/usr/share/doc/rdma-core/tests")
EXPECTED = pathlib.Path(__file__).with_name("pyverbs_expected.txt")
PYTHON = "/usr/bin/python3"  # pyverbs is built for the distribution's Python.
DEVICE = ["--dev", "mlx5_0", "--port", "1"]
PASS_MIN = 140
CASE_TIMEOUT_S = 60
JOBS = 2


def unpack(directory):
    """Returns all cases except those of one vendor; the vendors' base classes stay, because the
    others import them."""
    target = pathlib.Path(directory, "tests")
    target.mkdir()
    for source in SHIPPED.iterdir():
        if source.name.startswith(("test_mlx5", "test_efa")):
            continue
        if source.suffix == ".gz":
            (target / source.stem).write_bytes(gzip.decompress(source.read_bytes()))
        else:
            shutil.copy(source, target)
    return target / "run_tests.py"


def list_cases(fabric, runner):
    result = fabric.run("h0", [PYTHON, str(runner), "--list-tests"]).check()
    return [line for line in result.output.splitlines() if line.startswith("tests.")]


def judge(result):
    """Returns (verdict, reason) from what unittest printed."""
    output = result.output
    if result.timed_out:
        return "timeout", f"did not end in {CASE_TIMEOUT_S} s"
    if result.status < 0 or not re.search(r"^Ran 1 test in", output, re.MULTILINE):
        lines = output.strip().splitlines()
        return "crash", f"status {result.status}: {lines[-1] if lines else 'no output'}"
    if result.status != 0:
        # Cases of two processes print what went wrong in each, and raise something general.
        errors = re.findall(r"Player \S+ got: (.*)", output) or \
            re.findall(r"^\S*(?:Error|Exception|Failure)\b.*", output, re.MULTILINE)
        return "fail", errors[-1] if errors else f"status {result.status}"
    skipped = re.search(r"skipped '(.*?)'$", output, re.MULTILINE | re.DOTALL) or \
        re.search(r'skipped "(.*?)"$', output, re.MULTILINE | re.DOTALL)
    if skipped:
        return "skip", " ".join(skipped[1].split())
    return "pass", ""


def run_case(fabric, hosts, runner, name):
    host = hosts.get()
    result = fabric.run(host, [PYTHON, str(runner), *DEVICE, "-v", name], CASE_TIMEOUT_S)
    hosts.put(host)
    verdict, reason = judge(result)
    return {"name": name.removeprefix("tests."), "result": verdict, "reason": reason,
            "output": result.output}


def show(case, verbose):
    print(f"{case['result']:7} {case['name']}  {case['reason']}", flush=True)
    if case["result"] in ("fail", "crash", "timeout") or verbose:
        print("        " + case["output"].strip().replace("\n", "\n        "), flush=True)


def problems(cases):
    passing = {case["name"] for case in cases if case["result"] == "pass"}
    found = [f"{case['name']}: {case['result']}, {case['reason']}"
             for case in cases if case["result"] in ("crash", "timeout")]
    found += [f"{name}: passed before, not now"
              for name in EXPECTED.read_text().split("\n")
              if name and not name.startswith("#") and name not in passing]
    if len(passing) < PASS_MIN:
        found.append(f"only {len(passing)} of {len(cases)} pass, {PASS_MIN} must")
    return found


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases with TEXT in the name")
    parser.add_argument("-v", action="store_true", help="show the output of every case")
    parser.add_argument("--write-expected", action="store_true",
                        help="record the cases that pass in pyverbs_expected.txt")
    return parser.parse_args()


def main():
    args = parse_args()
    if not SHIPPED.exists():
        skip(f"{SHIPPED} is missing; run 'make deps'")
    with tempfile.TemporaryDirectory() as directory, Fabric("--hosts", "2") as fabric:
        runner = unpack(directory)
        names = [name for name in list_cases(fabric, runner) if args.k in name]
        # Cases of rdma_cm listen at one port, so cases that run side by side have a host each.
        hosts = queue.SimpleQueue()
        for number in range(JOBS):
            hosts.put(f"h{number}")
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            cases = []
            for case in pool.map(lambda name: run_case(fabric, hosts, runner, name), names):
                show(case, args.v)
                cases.append(case)
    counts = {verdict: sum(case["result"] == verdict for case in cases)
              for verdict in ("pass", "skip", "fail", "crash", "timeout")}
    print(f"{len(cases)} cases: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    if args.k:
        return 1 if counts["fail"] + counts["crash"] + counts["timeout"] else 0
    write_results("pyverbs", cases)
    if args.write_expected:
        passing = sorted(case["name"] for case in cases if case["result"] == "pass")
        EXPECTED.write_text(
            "# Written by: test_pyverbs.py --write-expected\n" + "\n".join(passing) + "\n")
    found = problems(cases)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
