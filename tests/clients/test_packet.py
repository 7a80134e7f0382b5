#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The packet path of a live fabric: packets of programs are captured and read by tshark and by a
parser of our own, cables lose, damage, delay and slow packets down, and programs notice nothing but
the time."""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from captures import Capture, expect, icrc_is_right, packets_of, vcrc_is_right, write_bw
from softib_test import Fabric, Report, despite_loss, need_programs

FLAGS = ("--hosts", "2")
VL15 = 15  # A subnet manager may sweep the fabric meanwhile.


def pingpong(fabric, *words):
    """A transfer whose data the receiver checks."""
    for result in fabric.pair("h1", "h0", lambda port: [
            "ibv_rc_pingpong", "-c", "-d", "mlx5_0", "-p", str(port), *words]):
        result.check()
        expect("invalid data" not in result.output, str(result))


def captured(fabric, scratch):
    file = scratch / "write.pcap"
    with Capture(fabric, file) as capture:
        write_bw(fabric, "-s", "65536", "-n", "50")
        pingpong(fabric, "-n", "20", "-g", "0")
    packets = list(packets_of(file))
    expect(re.search(rf"\b{len(packets)} packets$", capture.said.strip()), capture.said)
    expect(len(packets) > 50 * 16, f"{len(packets)} packets")
    wrong = [i for i, packet in enumerate(packets) if not icrc_is_right(packet)]
    expect(not wrong, f"ICRC of packets {wrong[:10]} is wrong")
    few = packets[:40] + packets[-40:]
    wrong = [i for i, packet in enumerate(few) if not vcrc_is_right(packet)]
    expect(not wrong, f"VCRC of packets {wrong[:10]} is wrong")
    lines = subprocess.run(["tshark", "-r", str(file)], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    expect(len(lines) == len(packets), f"tshark sees {len(lines)} of {len(packets)} packets")
    odd = [line for line in lines if re.search("malformed|unknown|error", line, re.IGNORECASE)]
    expect(not odd, "\n".join(odd[:5]))
    for kind in ("RC RDMA Write First", "RC RDMA Write Last", "RC Acknowledge", "RC Send First"):
        expect(any(kind in line for line in lines), f"no '{kind}' among\n" + "\n".join(lines[:20]))
    return f"{len(packets)} packets"


def captured_port(fabric, scratch):
    """Captures both directions at a switch port, through a pipe, until the capture ends by
    itself."""
    out = scratch / "port.pcap"
    with out.open("wb") as file:
        capture = subprocess.Popen(
            [fabric.softib, "capture", "-f", fabric.name, "sw0:2", "-w", "-", "-c", "100"],
            env=fabric.env, stdout=file, stderr=subprocess.PIPE, text=True)
        capture.stderr.readline()
        pingpong(fabric, "-n", "200")
        said = capture.communicate(timeout=60)[1]
    expect(capture.returncode == 0, said)
    slids = {struct.unpack_from(">H", packet, 6)[0]
             for packet in packets_of(out) if packet[0] >> 4 != VL15}
    expect(len(slids) == 2, f"from LIDs {slids}")


def counters_of(fabric, lid, port):
    text = fabric.run("h0", ["perfquery", str(lid), str(port)]).check().output
    return {name: int(value, 0)
            for name, value in re.findall(r"^(\w+):\.*(\w+)$", text, re.MULTILINE)}


def with_fault(fabric, words, action):
    fabric.command("fault", "-f", fabric.name, "sw0:1", *words).check()
    try:
        return action()
    finally:
        fabric.command("fault", "-f", fabric.name, "sw0:1", "--clear").check()


def lossy(fabric):
    before = counters_of(fabric, 1, 1)["PortXmitPkts"]
    with_fault(fabric, ["--drop", "1%"],
               lambda: despite_loss(lambda: pingpong(fabric, "-n", "300", "-s", "65536")))
    sent = counters_of(fabric, 1, 1)["PortXmitPkts"] - before
    expect(sent > 300 * 16 * 1.005, f"{sent} packets: nothing was sent again")


def broken(fabric):
    before = counters_of(fabric, 1, 1)
    with_fault(fabric, ["--corrupt", "0.01"],
               lambda: despite_loss(lambda: pingpong(fabric, "-n", "300", "-s", "65536")))
    after = counters_of(fabric, 1, 1)
    expect(after["PortRcvErrors"] > before["PortRcvErrors"], f"{before}\n{after}")
    expect(after["SymbolErrorCounter"] > before["SymbolErrorCounter"], f"{before}\n{after}")


def lossy_for_managers(fabric):
    """MADs from h1 over the switch to h0, whose cable has the fault."""
    def asks():
        return fabric.run("h1", ["smpquery", "-D", "-t", "100", "nodeinfo", "0,1,1"])

    asks().check()
    for words in (["--drop", "1"], ["--corrupt", "1"]):
        result = with_fault(fabric, words, asks)
        expect(result.status != 0 and "query failed" in result.output, str(result))
    asks().check()


def delayed(fabric):
    with_fault(fabric, ["--delay", "1ms"], lambda: pingpong(fabric, "-n", "20"))


def limited(fabric):
    """A link is never faster than its rate; 100 Mb/s are 12.5 MB/s."""
    text = with_fault(fabric, ["--rate", "100M"],
                      lambda: write_bw(fabric, "-s", "65536", "-n", "50"))
    average = float(re.search(r"^ 65536\s+\d+\s+\S+\s+(\S+)", text, re.MULTILINE)[1])
    expect(average < 13, f"{average} MB/s")


def listed(fabric):
    fabric.command("fault", "-f", fabric.name, "h0:1", "--drop", "1e-3", "--rate", "10G").check()
    shown = json.loads(fabric.command("fault", "-f", fabric.name, "--json").check().output)
    expect({(s["from"], s["drop"], s["rate_mbps"]) for s in shown} ==
           {("h0/mlx5_0", 0.001, 10000), ("sw0:1", 0.001, 10000)}, str(shown))
    fabric.command("fault", "-f", fabric.name, "sw0:1", "--clear").check()
    expect("no faults" in fabric.command("fault", "-f", fabric.name).check().output, "not cleared")
    for words, says in (
            (["sw0:99", "--drop", "1%"], "no cable"), (["sw0:1", "--drop", "2"], "is no part"),
            (["sw0:1"], "what should the cable do"), (["sw0:1", "--delay", "1h"], "is no delay"),
            (["--drop", "1%"], "which cable")):
        result = fabric.command("fault", "-f", fabric.name, *words)
        expect(result.status != 0 and says in result.output, str(result))


def slow_links(scratch):
    """A tenth of a thousandth of 400 Gb/s."""
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    with Fabric(*FLAGS, "--link-scale", "0.0005") as fabric:
        text = write_bw(fabric, "-s", "65536", "-n", "50")
    average = float(re.search(r"^ 65536\s+\d+\s+\S+\s+(\S+)", text, re.MULTILINE)[1])
    expect(average < 26, f"{average} MB/s")


def without_packets():
    os.environ["SOFTIB_TEST_DATA_PATH"] = "direct"
    with Fabric(*FLAGS) as fabric:
        for words in (["fault", "sw0:1", "--drop", "1%"], ["capture", "-w", "/dev/null"]):
            result = fabric.command(words[0], "-f", fabric.name, *words[1:])
            expect(result.status != 0 and "--data-path packet" in result.output, str(result))


def again(fabric, old):
    """Returns the carrier that replaced this one."""
    end = time.monotonic() + 20
    while True:
        status = json.loads(fabric.command("status", "-f", fabric.name, "--json").check().output)
        carrier = [p for p in status["programs"]
                   if p["command"] == "softib-carrier" and p["pid"] != old]
        if carrier:
            return carrier
        expect(time.monotonic() < end, "no other carrier came")
        time.sleep(0.01)


def carrier_dies():
    """The carrier is started again, and programs that start afterwards notice nothing."""
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    with Fabric(*FLAGS) as fabric:
        status = json.loads(fabric.command("status", "-f", fabric.name, "--json").check().output)
        carrier = [p for p in status["programs"] if p["command"] == "softib-carrier"]
        expect(len(carrier) == 1, str(status["programs"]))
        path = "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_packets"
        counts = []
        for _ in range(2):
            fabric.pair("h0", "h1", lambda port: ["ibv_rc_pingpong", "-p", str(port)])
            counts.append(int(fabric.run("h0", ["cat", path]).check().output))
            os.kill(carrier[0]["pid"], signal.SIGKILL)
            carrier = again(fabric, carrier[0]["pid"])
        expect(0 < 1.5 * counts[0] < counts[1], f"what the first one sent is lost: {counts}")


def main():
    need_programs("ib_write_bw", "ibv_rc_pingpong", "perfquery", "tshark")
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    os.environ["SOFTIB_TEST_DATA_PATH"] = "packet"
    report = Report("packet")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        with Fabric(*FLAGS) as fabric:
            report.case("softib capture", "read by tshark, ICRCs by zlib",
                        lambda: captured(fabric, scratch))
            report.case("softib capture", "a port, to a pipe",
                        lambda: captured_port(fabric, scratch))
            report.case("softib fault", "--drop", lambda: lossy(fabric))
            report.case("softib fault", "--corrupt", lambda: broken(fabric))
            report.case("softib fault", "management packets", lambda: lossy_for_managers(fabric))
            report.case("softib fault", "--delay", lambda: delayed(fabric))
            report.case("softib fault", "--rate", lambda: limited(fabric))
            report.case("softib fault", "shown and refused", lambda: listed(fabric))
        report.case("softib up", "--link-scale", lambda: slow_links(scratch))
        report.case("softib fault, capture", "on the direct path", without_packets)
        report.case("ibv_rc_pingpong", "after the carrier's death", carrier_dies)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
