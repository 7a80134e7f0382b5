#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Cables of the packet path that make too many errors: the port counts them, and its manager is
told by traps 129 (link integrity) and 131 (flow control watchdog)."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from captures import expect
from softib_test import Fabric, Report, free_port, listening, need_programs

PORT = 1  # The port of the switch to which h0 is cabled.


def counter(fabric, lid, name):
    text = fabric.run("h1", ["perfquery", str(lid), str(PORT)]).check().output
    return int(re.search(rf"^{name}:\.*(\d+)$", text, re.MULTILINE)[1])


def fault(fabric, *words):
    fabric.command("fault", "-f", fabric.name, f"sw0:{PORT}", *words).check()


def traffic(fabric):
    """Most packets are lost, so the client gives up."""
    port = free_port()
    command = ["ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port)]
    server = fabric.start("h1", command)
    server.wait_until(lambda: listening(port), f"listening on port {port}")
    fabric.run("h0", [*command, "localhost"])
    server.signal(9)
    server.wait()


def integrity(fabric, manager, log, switch):
    expect(counter(fabric, switch, "LocalLinkIntegrityErrors") == 0, "errors before the first")
    fault(fabric, "--corrupt", "0.01")
    fabric.pair("h1", "h0", lambda port: ["ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port), "-n",
                                          "200", "-s", "65536"])
    expect(counter(fabric, switch, "SymbolErrorCounter") > 8, "too few errors")
    expect(counter(fabric, switch, "LocalLinkIntegrityErrors") == 0, "good packets do not count")
    fault(fabric, "--corrupt", "0.9")
    traffic(fabric)
    expect(counter(fabric, switch, "LocalLinkIntegrityErrors") > 0, "not counted")
    fault(fabric, "--clear")
    manager.wait_until(lambda: "num:129" in log.read_text(), "trap 129 arrives")


def silence(fabric, manager, log):
    fault(fabric, "--drop", "1")
    manager.wait_until(lambda: "num:131" in log.read_text(), "trap 131 arrives")
    fault(fabric, "--clear")


def main():
    need_programs("ibv_rc_pingpong", "perfquery", "opensm")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    report = Report("link_traps")
    with tempfile.TemporaryDirectory() as folder, Fabric("--hosts", "2", "--sm", "none") as fabric:
        log, options = pathlib.Path(folder, "opensm.log"), pathlib.Path(folder, "options.conf")
        options.write_text("force_log_flush TRUE\n")
        manager = fabric.start(
            "h1", ["env", f"OSM_CACHE_DIR={folder}", f"OSM_TMP_DIR={folder}", "opensm",
                   "-F", str(options), "-f", str(log), "-e", "-D", "0x03"])
        manager.wait_until(lambda: log.exists() and "SUBNET UP" in log.read_text(),
                           "the subnet is up")
        lids = dict(re.findall(r"^(0x\w+) (0x\w+) 0x\w+$",
                               pathlib.Path(folder, "guid2lid").read_text(), re.MULTILINE))
        switch = int(lids["0x0250f71b20000000"], 16)
        report.case("softib fault", "--corrupt: trap 129",
                    lambda: integrity(fabric, manager, log, switch))
        report.case("softib fault", "--drop all: trap 131", lambda: silence(fabric, manager, log))
        manager.signal(15)
        manager.wait()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
