#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Captures and faults of HCAs on Ethernet: tshark reads RoCEv2 frames, and lost or damaged packets
are sent again."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from captures import Capture, expect
from softib_test import Fabric, Report, despite_loss, loopback_net, need_programs

FLAGS = ("--hosts", "2", "--link-layer", "ethernet", "--roce-address-base",
         f"127.{loopback_net()}.0.0")
ROUNDS, PACKETS = 200, 16


def pingpong(fabric):
    for result in fabric.pair("h1", "h0", lambda port: [
            "ibv_rc_pingpong", "-c", "-d", "mlx5_0", "-g", "0", "-m", "4096",
            "-s", "65536", "-n", str(ROUNDS), "-p", str(port)]):
        result.check()
        expect("invalid data" not in result.output, str(result))


def tshark(file, *words):
    return subprocess.run(["tshark", "-r", str(file), *words], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def captured(fabric, scratch, port, senders):
    file = scratch / "roce.pcap"
    with Capture(fabric, file, *([port] if port else [])) as capture:
        pingpong(fabric)
    expect("too fast" not in capture.said, capture.said)
    lines = tshark(file)
    odd = [line for line in lines
           if "RRoCE" not in line or re.search("malformed|unknown", line, re.IGNORECASE)]
    expect(not odd, "\n".join(odd[:5]))
    expect(len(lines) >= 2 * ROUNDS * PACKETS, f"{len(lines)} packets")
    found = set(tshark(file, "-T", "fields", "-e", "ip.src"))
    expect(len(found) == senders, f"from {found}")


def sent(fabric):
    counters = fabric.run(
        "h0", ["cat", "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_packets"]).check()
    return int(counters.output)


def with_fault(fabric, *words):
    before = sent(fabric)
    pingpong(fabric)
    clean = sent(fabric) - before
    fabric.command("fault", "-f", fabric.name, "h0:1", *words).check()
    before = sent(fabric)
    despite_loss(lambda: pingpong(fabric))
    fabric.command("fault", "-f", fabric.name, "h0:1", "--clear").check()
    more = sent(fabric) - before
    expect(more > clean + ROUNDS * PACKETS // 200, f"{more} packets, without faults {clean}")


def refused(fabric):
    for word in (["--delay", "1us"], ["--rate", "1G"]):
        result = fabric.command("fault", "-f", fabric.name, "h0:1", *word)
        expect(result.status != 0 and "on Ethernet" in result.output, str(result))


def main():
    need_programs("ibv_rc_pingpong", "tshark")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    report = Report("roce_cables")
    with tempfile.TemporaryDirectory() as folder, Fabric(*FLAGS) as fabric:
        scratch = pathlib.Path(folder)
        report.case("softib capture", "what all adapters send",
                    lambda: captured(fabric, scratch, None, 2))
        report.case("softib capture", "a port, both directions",
                    lambda: captured(fabric, scratch, "h0:1", 2))
        report.case("softib fault", "--drop", lambda: with_fault(fabric, "--drop", "1%"))
        report.case("softib fault", "--corrupt", lambda: with_fault(fabric, "--corrupt", "1%"))
        report.case("softib fault", "--delay, --rate", lambda: refused(fabric))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
