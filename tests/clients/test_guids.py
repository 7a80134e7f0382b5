#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Alias GUIDs: the port has those that a program requests from the SA, and unmodified programs see
them, find the port by them and use them."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, need_programs
from subnet import expect, raw_mad

# LIDs: hosts 1 to 4, then leaf0, leaf1, spine0, spine1.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
LID = 2  # The LID of h1, which gets the alias.
OWN = ["fe80::250:f71b:1000:0", "fe80::250:f71b:1000:100"]
GUID, GID, SYSFS_GID = ("0x02aa000000005eed", "fe80::2aa:0:0:5eed",
                        "fe80:0000:0000:0000:02aa:0000:0000:5eed")
INDEX = 3


def shown(fabric, wanted):
    """Checks that the port, the SA, sysfs and libibverbs agree on whether the port has such a
    GUID."""
    for host, command, pattern in (
            ("h0", ["smpquery", "guidinfo", str(LID)], GUID[2:]),
            ("h0", ["saquery", "GUIDInfoRecord", str(LID)], GUID[2:]),
            ("h1", ["cat", f"/sys/class/infiniband/mlx5_0/ports/1/gids/{INDEX}"], SYSFS_GID),
            ("h1", ["ibv_devinfo", "-v"], rf"GID\[ *{INDEX}\]:\s+{SYSFS_GID}")):
        result = fabric.run(host, command).check()
        expect(bool(re.search(pattern, result.output)) == wanted,
               f"{'no' if wanted else 'still'} {GUID}\n{result}")


def given(fabric):
    watcher = fabric.start("h1", ["stdbuf", "-oL", "ibv_asyncwatch"])
    watcher.wait_until(lambda: "async event FD" in watcher.output(),
                       "ibv_asyncwatch has the device")
    answer = raw_mad(fabric, "h1", "alias", "set", str(INDEX), GUID).output.split()
    expect(answer[INDEX] == GUID and answer[1] == "0x" + 16 * "0", f"{answer}")
    watcher.wait_until(lambda: "18" in watcher.output().split("async event FD")[1],
                       "the GID table changes")
    watcher.signal(9)
    shown(fabric, True)
    return watcher.wait().output


def resolved(fabric):
    """The path to the alias is the path to its port."""
    output = fabric.run("h0", ["saquery", "PR", "--sgid-to-dgid", f"{OWN[0]}-{GID}"]).check().output
    expect(re.search(rf"dgid\.+{GID}", output) and
           re.search(rf"dlid\.+{LID}$", output, re.MULTILINE), output)


def used(fabric, program):
    """The server tells the GID at this index, and the client sends to it."""
    command = lambda port: [program, "-d", "mlx5_0", "-p", str(port), "-n", "100"]
    server, client = fabric.pair("h1", "h0", lambda port: [*command(port), "-g", "0"],
                                 server_args=("-g", str(INDEX)))
    expect(GID in client.output, f"{client}\n{server}")
    return client


def kept(fabric):
    fabric.command("sm", "resweep", "-f", fabric.name).check()
    shown(fabric, True)


def taken(fabric):
    raw_mad(fabric, "h1", "alias", "delete", str(INDEX), GUID)
    shown(fabric, False)
    result = fabric.run("h0", ["saquery", "PR", "--sgid-to-dgid", f"{OWN[0]}-{GID}"])
    expect("dlid" not in result.output, str(result))


def main():
    need_programs("smpquery", "saquery", "ibv_devinfo", "ibv_asyncwatch", "ibv_rc_pingpong",
                  "ibv_uc_pingpong", "ibv_ud_pingpong")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    report = Report("guids")
    with Fabric(*TREE) as fabric:
        report.case("ibv_devinfo", "an alias is there", lambda: given(fabric))
        report.case("saquery", "a path to it", lambda: resolved(fabric))
        for program in ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"):
            report.case(program, "by the alias", lambda: used(fabric, program))
        report.case("softib", "stays after a sweep", lambda: kept(fabric))
        report.case("ibv_devinfo", "and is gone", lambda: taken(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
