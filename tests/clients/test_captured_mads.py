#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Management datagrams in captures of the packet path: tshark takes them for what they are, in both
directions of a cable, and their check sums are right."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from captures import Capture, expect, icrc_is_right, packets_of, vcrc_is_right
from softib_test import Fabric, Report, need_programs

FIELDS = ("lrh.vl", "lrh.slid", "lrh.dlid", "bth.destqp", "deth.srcqp", "deth.q_key",
          "mad.mgmtclass", "mad.method", "mad.attributeid")
PERMISSIVE, VL15, QKEY = 0xFFFF, 15, 0x80010000
LID_ROUTED, DIRECTED, ADMINISTRATION, PERFORMANCE = 0x01, 0x81, 0x03, 0x04
GET, RESPONSE, NODE_INFO, PORT_COUNTERS = 0x01, 0x81, 0x0011, 0x0012


def dissected(file):
    """Returns a tuple of FIELDS for each packet, as tshark reads them."""
    words = [word for field in FIELDS for word in ("-e", f"infiniband.{field}")]
    lines = subprocess.run(["tshark", "-r", str(file), "-T", "fields", *words], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return [tuple(int(value, 0) for value in line.split("\t")) for line in lines]


def captured(fabric, scratch, port, commands):
    """Returns the MADs on the cable at a port meanwhile; none of them may be wrong."""
    file = scratch / "mads.pcap"
    with Capture(fabric, file, port):
        for command in commands:
            fabric.run("h0", command).check()
    packets = list(packets_of(file))
    for i, packet in enumerate(packets):
        expect(icrc_is_right(packet) and vcrc_is_right(packet),
               f"check sums of packet {i} are wrong: {packet.hex()}")
    found = dissected(file)
    expect(len(found) == len(packets), f"tshark sees {len(found)} of {len(packets)} packets")
    return found


def both_ways(found, lids, qp, qkey, vl, what):
    there, back = (vl, *lids, qp, qp, qkey), (vl, *reversed(lids), qp, qp, qkey)
    expect((*there, what[0], GET, what[1]) in found, f"no request {what} among {found}")
    expect((*back, what[0], RESPONSE, what[1]) in found, f"no answer {what} among {found}")


def subnet(fabric, scratch):
    found = captured(fabric, scratch, "h0:1",
                     [["smpquery", "nodeinfo", "2"], ["smpquery", "-D", "nodeinfo", "0,1"]])
    both_ways(found, (1, 2), 0, 0, VL15, (LID_ROUTED, NODE_INFO))
    both_ways(found, (PERMISSIVE, PERMISSIVE), 0, 0, VL15, (DIRECTED, NODE_INFO))


def services(fabric, scratch):
    """MADs appear at the HCA's cable, and at the cable of their receiver."""
    for port in ("h0:1", "sw0:2"):
        found = captured(fabric, scratch, port, [["perfquery", "2", "1"]])
        both_ways(found, (1, 2), 1, QKEY, 0, (PERFORMANCE, PORT_COUNTERS))
    found = captured(fabric, scratch, "h0:1", [["saquery", "NR"]])
    expect(any(packet[6] == ADMINISTRATION for packet in found), f"{found}")


def elsewhere(fabric, scratch):
    """A cable that the MADs do not pass shows none of them."""
    found = captured(fabric, scratch, "h2:1", [["perfquery", "2", "1"]])
    expect(not any(packet[6] == PERFORMANCE for packet in found), f"{found}")


def main():
    need_programs("smpquery", "perfquery", "saquery", "tshark")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    report = Report("captured_mads")
    with tempfile.TemporaryDirectory() as folder, Fabric("--hosts", "3") as fabric:
        scratch = pathlib.Path(folder)
        report.case("softib capture", "subnet management", lambda: subnet(fabric, scratch))
        report.case("softib capture", "general services", lambda: services(fabric, scratch))
        report.case("softib capture", "of another cable", lambda: elsewhere(fabric, scratch))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
