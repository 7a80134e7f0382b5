#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Service levels on the packet path: the tables of the subnet manager say which lane a queue pair's
packets take at its HCA and behind each switch, also when the tables change, and ports count by
service level."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from captures import Capture, expect, packets_of, write_bw
from softib_test import Fabric, Report, free_port, listening, need_programs
from subnet import raw_mad

# Service level 1 has lane 5, service level 2 none, the others lane 0.
FLAGS = ("--hosts", "2", "--qos", "--sl2vl", "0,5,15,0")
VL15 = 15
BYTES, WRITES = 65536, 20


def levels_and_lanes(file):
    """Returns service level and lane of all packets that programs sent."""
    return {(packet[1] >> 4, packet[0] >> 4)
            for packet in packets_of(file) if packet[0] >> 4 != VL15}


def write_with(fabric, level):
    write_bw(fabric, "-s", str(BYTES), "-n", str(WRITES), "--sl", str(level))


def taken(fabric, scratch):
    """Checks the lanes at an HCA's cable and behind the switch."""
    for port in ("h0:1", "sw0:2"):
        for level, lane in ((0, 0), (1, 5), (3, 0)):
            file = scratch / "lanes.pcap"
            with Capture(fabric, file, port):
                write_with(fabric, level)
            seen = levels_and_lanes(file)
            expect((level, lane) in seen, f"{port}, level {level}: {seen}")
            expect(all(v == lane for s, v in seen if s == level), f"{port}, level {level}: {seen}")


def words_by_level(fabric, flag, lid):
    text = fabric.run("h0", ["perfquery", flag, str(lid), "1"]).check().output
    return [int(n, 0) for _, n in sorted(
        (int(sl), n) for sl, n in re.findall(r"^\w+?DataSL(\d+):\.*(\w+)$", text, re.MULTILINE))]


def counted(fabric):
    """Returns the packets that h0 sends and h1 receives."""
    for flag, lid in (("-X", 1), ("-S", 2)):
        for level in (0, 1):
            before = words_by_level(fabric, flag, lid)
            expect(len(before) == 16, f"{before}")
            write_with(fabric, level)
            more = [b - a for a, b in zip(before, words_by_level(fabric, flag, lid))]
            expect(more[level] >= WRITES * BYTES // 4, f"perfquery {flag}, level {level}: {more}")
            others = sum(more) - more[level]
            expect(others < more[level] // 10, f"perfquery {flag}, level {level}: {more}")


def dropped(fabric):
    """The retries of the sender are used up."""
    port = free_port()
    command = ["ibv_rc_pingpong", "-d", "mlx5_0", "-p", str(port), "-l", "2", "-n", "3"]
    server = fabric.start("h1", command)
    server.wait_until(lambda: listening(port), f"listening on port {port}")
    result = fabric.run("h0", [*command, "localhost"])
    expect("transport retry counter exceeded" in result.output, str(result))
    server.signal(9)
    server.wait()


def changed(fabric, scratch):
    """Tables that are written without the subnet manager act at once: HCAs and switch follow what
    was written last."""
    raw_mad(fabric, "h0", "lanes", "1", "0", *["6"] * 16)
    for port, lane in (("h0:1", 6), ("sw0:2", 5)):
        file = scratch / "changed.pcap"
        with Capture(fabric, file, port):
            write_with(fabric, 1)
        expect((1, lane) in levels_and_lanes(file), f"{port}: {levels_and_lanes(file)}")
    # The table of the switch from port 1 to port 2.
    switch = re.search(r"lid (\d+)", fabric.run("h0", ["ibswitches"]).check().output)[1]
    raw_mad(fabric, "h0", "lanes", switch, str(1 << 8 | 2), *["3"] * 16)
    with Capture(fabric, file, "sw0:2"):
        write_with(fabric, 1)
    expect((1, 3) in levels_and_lanes(file), f"{levels_and_lanes(file)}")


def one_lane(scratch):
    """With one operational lane all packets take that lane."""
    with Fabric("--hosts", "2", "--max-op-vls", "1") as fabric:
        file = scratch / "one.pcap"
        with Capture(fabric, file, "sw0:2"):
            write_with(fabric, 3)
        expect({v for _, v in levels_and_lanes(file)} == {0}, f"{levels_and_lanes(file)}")


def main():
    need_programs("ib_write_bw", "ibv_rc_pingpong", "perfquery", "ibswitches")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    report = Report("lanes")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        with Fabric(*FLAGS) as fabric:
            report.case("ib_write_bw --sl", "takes the lane of its level",
                        lambda: taken(fabric, scratch))
            report.case("perfquery", "by service level", lambda: counted(fabric))
            report.case("ibv_rc_pingpong", "of a level without a lane", lambda: dropped(fabric))
            report.case("ib_write_bw --sl", "after tables have changed",
                        lambda: changed(fabric, scratch))
        report.case("softib up", "--max-op-vls 1", lambda: one_lane(scratch))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
