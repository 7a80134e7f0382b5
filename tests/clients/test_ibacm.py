#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ibacm, which finds devices by netlink, asks the SA for paths, and keeps them for programs."""

import os
import pathlib
import re
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, need_programs, skip

SOCKET = pathlib.Path("/run/ibacm-unix.sock")  # The same for all, and root's.


def is_served():
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(SOCKET)) == 0


def start(fabric, folder):
    """The service on the first host, with files of its own."""
    fabric.run("h0", ["ib_acme", "-A", "-O", "-D", str(folder)]).check()
    with open(folder / "ibacm_opts.cfg", "a", encoding="ascii") as options:
        options.write(f"log_file {folder}/log\nlog_level 2\nlock_file {folder}/lock\n"
                      "server_mode unix\n")
    service = fabric.start("h0", ["ibacm", "-P", "-A", str(folder / "ibacm_addr.cfg"), "-O",
                                  str(folder / "ibacm_opts.cfg")])
    service.wait_until(is_served, "the service's socket")
    return service


def addresses(folder):
    """It has written one for each port that it found, with the host's name."""
    text = (folder / "ibacm_addr.cfg").read_text()
    if not re.search(r"^h0\s+mlx5_0\s+1\s+default$", text, re.MULTILINE):
        raise Failure(text)


def path(fabric, lid):
    """A path of the service equals the SA's answer to the same question."""
    result = fabric.run("h0", ["ib_acme", "-f", "l", "-s", "1", "-d", str(lid), "-v"])
    for line in (f"dlid: {lid}", "slid: 1", "pkey: 0xffff", "SA verification: success"):
        if line not in result.check().output:
            raise Failure(f"no '{line}'\n{result}")


def kept(fabric, lid):
    """The service returns paths that it has found before from its cache."""
    result = fabric.run("h0", ["ib_acme", "-f", "l", "-s", "1", "-d", str(lid), "-c"])
    if f"dlid: {lid}" not in result.check().output:
        raise Failure(str(result))


def main():
    need_programs("ibacm", "ib_acme")
    if os.geteuid() != 0 or is_served():
        skip("ibacm needs a socket in /run that only root makes, and only one program has")
    report = Report("ibacm")
    with tempfile.TemporaryDirectory() as name, Fabric("--hosts", "3") as fabric:
        folder = pathlib.Path(name)
        try:
            service = start(fabric, folder)
            report.case("ibacm", "finds devices", lambda: addresses(folder))
            for lid in (2, 3):
                report.case("ibacm", f"a path to LID {lid}", lambda lid=lid: path(fabric, lid))
            report.case("ibacm", "a path that it knows", lambda: kept(fabric, 2))
            service.signal(15)
        finally:
            for name in (SOCKET, SOCKET.with_name("ibacm.sock")):
                name.unlink(missing_ok=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
