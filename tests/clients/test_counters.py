#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A port's counters are the same numbers wherever they are shown: perfquery asks the port's agent,
/sys/class/infiniband has a file for each, and softib status --json lists them. On both data
paths."""

import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, despite_loss, need_programs
from subnet import expect, pingpong, wait_state

COUNTERS = "/sys/class/infiniband/mlx5_0/ports/1/counters"
# File: field of PortCountersExtended as perfquery prints it, and the name in JSON.
PLACES = {
    "port_xmit_data": ("PortXmitData", "xmit_words"),
    "port_rcv_data": ("PortRcvData", "rcv_words"),
    "port_xmit_packets": ("PortXmitPkts", "xmit_packets"),
    "port_rcv_packets": ("PortRcvPkts", "rcv_packets"),
    "unicast_xmit_packets": ("PortUnicastXmitPkts", "unicast_xmit_packets"),
    "multicast_rcv_packets": ("PortMulticastRcvPkts", "multicast_rcv_packets"),
    "symbol_error": ("SymbolErrorCounter", "symbol_errors"),
    "link_downed": ("LinkDownedCounter", "link_downed"),
    "port_rcv_errors": ("PortRcvErrors", "rcv_errors"),
    "port_xmit_discards": ("PortXmitDiscards", "xmit_discards"),
    "port_rcv_constraint_errors": ("PortRcvConstraintErrors", "rcv_constraint_errors"),
    "excessive_buffer_overrun_errors": ("ExcessiveBufferOverrunErrors", "buffer_overruns"),
    "VL15_dropped": ("VL15Dropped", "vl15_dropped"),
}


def asked(fabric, *words):
    """Returns what perfquery prints, by field."""
    text = fabric.run("h0", ["perfquery", *words]).check().output
    return {name: int(value, 0)
            for name, value in re.findall(r"^(\w+):\.*(\w+)$", text, re.MULTILINE)}


def status(fabric, *words):
    return json.loads(fabric.command("status", "-f", fabric.name, "--json", *words).check().output)


def lid_of(fabric, host):
    return next(h["hcas"][0]["lid"] for h in status(fabric)["hosts"] if h["name"] == host)


def in_sysfs(fabric, host, file):
    return int(fabric.run(host, ["cat", f"{COUNTERS}/{file}"]).check().output)


def same_everywhere(fabric, host):
    """Returns what the port counted, by the name of the file."""
    by_agent = asked(fabric, "-x", str(lid_of(fabric, host)), "1")
    by_status = next(h["hcas"][0]["counters"] for h in status(fabric)["hosts"] if h["name"] == host)
    seen = {}
    for file, (field, name) in PLACES.items():
        seen[file] = in_sysfs(fabric, host, file)
        expect(seen[file] == by_agent[field] == by_status[name],
               f"{host}: {file} {seen[file]}, {field} {by_agent[field]}, JSON {by_status[name]}")
    return seen


def traffic(fabric):
    pingpong(fabric, "h0", "h1")
    seen = same_everywhere(fabric, "h1")
    expect(seen["port_xmit_packets"] > 50 and seen["port_rcv_data"] > 50, str(seen))


def link_went_down(fabric):
    before = same_everywhere(fabric, "h1")["link_downed"]
    for _ in range(2):
        fabric.command("link", "-f", fabric.name, "down", "h1").check()
        wait_state(fabric, "h1", "Down")
        fabric.command("link", "-f", fabric.name, "up", "h1").check()
        wait_state(fabric, "h1", "Active")
    seen = same_everywhere(fabric, "h1")["link_downed"]
    expect(seen == before + 2, f"went down {seen - before} times")
    # The other end of the cable counts the packets too.
    ports = status(fabric, "-v")["switches"][0]["port_counters"]
    at_switch = asked(fabric, "-x", str(status(fabric)["switches"][0]["lid"]),
                      "2")["LinkDownedCounter"]
    expect(ports["2"]["link_downed"] == at_switch == seen, f"{ports['2']}\n{at_switch}")


def details(fabric):
    """The details of a switch port's PMA, and JSON, say why packets were in error."""
    lid = str(status(fabric)["switches"][0]["lid"])
    fabric.command("fault", "-f", fabric.name, "sw0:1", "--corrupt", "0.05").check()
    try:
        despite_loss(lambda: fabric.pair("h0", "h1", lambda port: [
            "ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port), "-n", "50", "-s", "65536"]))
    finally:
        fabric.command("fault", "-f", fabric.name, "sw0:1", "--clear").check()
    errors = asked(fabric, "-x", lid, "1")["PortRcvErrors"]
    physical = asked(fabric, "--rcverr", lid, "1")["PortLocalPhysicalErrors"]
    shown = status(fabric, "-v")["switches"][0]["port_counters"]["1"]["local_physical_errors"]
    expect(physical == errors == shown > 0, f"{errors} errors, {physical} physical, JSON {shown}")


def main():
    need_programs("perfquery", "ibv_rc_pingpong")
    report = Report("counters")
    for path in ("direct", "packet"):
        os.environ["SOFTIB_TEST_DATA_PATH"] = path
        with Fabric("--hosts", "2") as fabric:
            report.case(path, "sysfs, perfquery and status agree on traffic",
                        lambda: traffic(fabric))
            report.case(path, "they agree on how often a link went down",
                        lambda: link_went_down(fabric))
            if path == "packet":
                report.case(path, "what the engine counted by cause is shown",
                            lambda: details(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
