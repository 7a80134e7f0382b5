#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""UCX's own tests of its transports over verbs, from the program that SOFTIB_UCX_GTEST names.
They run in one process on one host, suite by suite, so that a suite that crashes does not end
others."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, skip

TRANSPORTS = ("rc_verbs", "ud_verbs")
# These compare the speed of all combinations: they take minutes, and compare no data.
LEFT_OUT = ("test_uct_perf",)
TIMEOUT_S = 1200


def suites(fabric, program):
    """Returns names such as rc_verbs/uct_flush_test."""
    listed = fabric.run("h0", [program, "--gtest_list_tests"], 120).check().output
    found = re.findall(r"^(\w+/\w+)\.$", listed, re.MULTILINE)
    return [name for name in found
            if name.split("/")[0] in TRANSPORTS and name.split("/")[1] not in LEFT_OUT]


def run_suite(fabric, program, suite):
    result = fabric.run("h0", [program, f"--gtest_filter={suite}.*"], TIMEOUT_S)
    failed = sorted(set(re.findall(r"^\[  FAILED  \] (\S+)", result.output, re.MULTILINE)))
    if failed or result.timed_out or result.status != 0:
        raise Failure(f"{', '.join(failed) or 'it did not end well'}\n{result}")
    return result.output


def main():
    report = Report("ucx_gtest")
    program = os.environ.get("SOFTIB_UCX_GTEST")
    if program is None:
        skip("SOFTIB_UCX_GTEST names no gtest of UCX")
    with Fabric("--hosts", "2") as fabric:
        found = suites(fabric, program)
        if not found:
            raise SystemExit(f"{program} has no tests of {' and '.join(TRANSPORTS)}")
        for suite in found:
            report.case("1 host", suite, lambda: run_suite(fabric, program, suite))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
