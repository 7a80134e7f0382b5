#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""M_Keys with the distribution's OpenSM and diagnostics, unmodified: OpenSM protects a fabric, and
then tools without its key read and change what the protection level lets them."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, need_programs

# Two leaves with two hosts each, two spines. LIDs: hosts 1 to 4, then switches.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
NODES = 8
KEY, WRONG = "0x1234567890", "0x1234567891"
FAST = "-t 100"  # A short timeout for requests that get no answer.


def expect(condition, text):
    if not condition:
        raise Failure(text)


def tool(fabric, line):
    return fabric.run("h0", line.split())


def protect(fabric, level):
    with tempfile.TemporaryDirectory() as scratch:
        conf, log = pathlib.Path(scratch, "conf"), pathlib.Path(scratch, "log")
        conf.write_text(f"m_key {KEY}\nm_key_protection_level {level}\nm_key_lease_period 0\n")
        fabric.run("h0", ["env", f"OSM_CACHE_DIR={scratch}", f"OSM_TMP_DIR={scratch}", "opensm",
                          "-o", "-F", str(conf), "-f", str(log), "-e"], timeout_s=60).check()
        text = log.read_text(errors="replace")
    expect("SUBNET UP" in text, f"the subnet is not up\n{text[-3000:]}")
    errors = [line for line in text.splitlines() if " ERR " in line]
    expect(not errors, "\n".join(errors[:20]))


def switch_lid(fabric):
    found = re.search(r'^Switch.*"leaf0".* lid (\d+) ',
                      tool(fabric, f"ibnetdiscover -y {KEY}").check().output, re.MULTILINE)
    expect(found, "leaf0 is not found")
    return int(found[1])


def violations(fabric, lid):
    output = tool(fabric, f"smpquery -y {KEY} portinfo {lid} 0").check().output
    return int(re.search(r"MkeyViolations:\.+(\d+)$", output, re.MULTILINE)[1])


def discovers(fabric):
    seen = tool(fabric, f"ibnetdiscover -y {KEY}").check()
    found = len(re.findall(r"^(Ca|Switch)\b", seen.output, re.MULTILINE))
    expect(found == NODES, f"{found} nodes, not {NODES}\n{seen}")
    return str(seen)


def reads(fabric, lid, allowed):
    """Requests without the key, and with a wrong one."""
    before = violations(fabric, lid)
    for key in ("", f"-y {WRONG}"):
        result = tool(fabric, f"smpquery {FAST} {key} nodeinfo {lid}")
        expect((result.status == 0) == allowed, str(result))
    counted = violations(fabric, lid) - before
    expect((counted == 0) == allowed, f"{counted} violations counted")
    return f"{counted} violations counted"


def changes_nothing(fabric, lid):
    before = violations(fabric, lid)
    result = tool(fabric, f"ibportstate {FAST} {lid} 2 disable")
    expect(result.status != 0, str(result))
    expect("State: Active" in fabric.run("h1", ["ibstat"]).check().output,
           "a stranger took h1's link down")
    expect(violations(fabric, lid) > before, "not counted")
    tool(fabric, f"ibportstate -y {KEY} {lid} 2 disable").check()
    expect("State: Down" in fabric.run("h1", ["ibstat"]).check().output, "the key does not help")
    return str(result)


def main():
    # Tools in sbin.
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    need_programs("opensm", "smpquery", "ibportstate", "ibnetdiscover", "ibstat")
    report = Report("mkey")
    for level in range(4):
        with Fabric(*TREE, "--sm", "none") as fabric:
            report.case(f"level {level}", "OpenSM protects the fabric",
                        lambda: protect(fabric, level))
            report.case(f"level {level}", "who has the key sees all", lambda: discovers(fabric))
            lid = switch_lid(fabric)
            report.case(f"level {level}", "strangers read, or not",
                        lambda: reads(fabric, lid, level < 2))
            report.case(f"level {level}", "strangers change nothing",
                        lambda: changes_nothing(fabric, lid))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
