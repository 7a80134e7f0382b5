#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the InfiniBand diagnostics print on one small fabric, whole and to the letter.

A file of golden/ is what one command printed when a person last read it: the command and its exit
status, then its output, stderr included. What may differ from run to run is replaced (VARIES);
GUIDs, LIDs, routes and counters may not. "test_golden.py --update" writes the files anew: read the
difference before it is committed, and ask of each line whether a real device or OpenSM would have
said that."""

import difflib
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Report, need_programs
from subnet import expect, raw_mad, wait_state

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "golden"

# Two leaves with two hosts each, two spines. LIDs: h0 to h3 1 to 4, leaf0, leaf1, spine0, spine1 5
# to 8. Of the engines only minhop has paths from spine to spine, and so all that can be.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4", "--engine", "minhop")

# What differs from run to run, and what to write in its place.
VARIES = [
    (r"(generated on ).*", r"\1DATE"),
    (r"(ibwarn: \[)\d+\]", r"\1PID]"),
    # ibping: the name of the machine on which its server runs, and how long it took.
    (r"(Pong from |--- )\S+( \(Lid)", r"\1HOST\2"),
    (r"(time )[\d.]+( ms)", r"\1TIME\2"),
    (r"(rtt min/avg/max = )[\d./]+", r"\1TIMES"),
    (r"(activity count )\d+", r"\1COUNT"),
    (r"(ActCount\.+)\d+", r"\1COUNT"),
    (r"((?:Current)?Time[Ss]tamp:\.+)\d+", r"\1TICKS"),
    # Since rdma-core 49 a PortInfo ends with the speeds beyond NDR.
    (r"(?m)^\s*LinkSpeedExt(?:Active|Supported|Enabled)2:.*\n", ""),
]

# What only looks, in any order.
READING = [
    "ibstat", "ibstat -p", "ibstatus", "ibaddr", "ibaddr 5", "sminfo", "ibhosts", "ibswitches",
    "ibnodes", "ibrouters", "ibnetdiscover", "ibnetdiscover -p", "iblinkinfo", "iblinkinfo -l",
    "ibidsverify", "dump_fts", "dump_mfts",
    *[f"ibqueryerrors {options}".strip()
      for options in ("", "--data", "--details", "--counters", "--report-port")],
    *[f"ibroute {options}" for options in ("5", "-a 5", "-M 5")],
    *[f"ibtracert {options}" for options in ("1 4", "1 5", "-n 1 4", "-m 0xc000 1 4")],
    *[f"ibportstate {options} query" for options in ("1 1", "5 0", "5 2", "8 4")],
    *[f"perfquery {options}".strip() for options in (
        "", "-x", "-x 5 3", "-a 5", "-l -a 5", "-X", "-S", "-D", "-E", "-T", "--oprcvcounters",
        "--flowctlcounters", "--vloppackets", "--vlopdata", "--vlxmitflowctlerrors",
        "--vlxmitcounters", "--swportvlcong 5 1", "--rcvcc", "--slrcvfecn", "--slrcvbecn",
        "--xmitcc", "--vlxmittimecc", "--smplctl")],
    *[f"smpquery {query}" for query in (
        "nodeinfo 1", "nodeinfo 5", "nodedesc 1", "nodedesc 5", "portinfo 1", "portinfo 5 0",
        "portinfo 5 1", "portinfo 8 4", "pie 1", "pie 5 1", "switchinfo 1", "switchinfo 5",
        "pkeys 1", "pkeys 5 1", "sl2vl 1", "sl2vl 5 1", "vlarb 1", "vlarb 5 1", "guidinfo 1",
        "mepi 1", "-D nodeinfo 0,1", "-D nodedesc 0,1,3", "-c nodeinfo 5 0,3",
        "-G nodeinfo 0x0250f71b20000000")],
    # By number: NodeDescription to PortInfo, SLtoVL, VLArb, forwarding tables; one that nobody has.
    *[f"smpdump {what}" for what in (
        "5 0x10", "-s 5 0x10", "-D 0,1 0x10", "5 0x11", "5 0x12", "5 0x14", "5 0x15 1", "5 0x17 1",
        "5 0x18 0x10001", "5 0x19", "5 0x1b", "5 0x77")],
    *[f"ibccquery {what}" for what in (
        "cp 1", "ci 1", "ci 5", "ck 1", "cl 1", "cl 5", "ss 1", "ss 5", "sp 1", "sp 5", "cs 1",
        "cs 5", "ct 1", "ct 5", "ti 1")],
    *[f"saquery {query}" for query in (
        "CPI", "NR", "PIR", "SL2VL", "PKTR", "--smkey 1 PKTR", "VLAR", "IIR", "LR", "SR", "PR",
        "MCMR", "--smkey 1 MCMR", "LFTR", "MFTR", "GIR", "SWIR", "SMIR", "-p --slid 1 --dlid 4",
        "--src-to-dst 1:4", "-D", "-s", "-g", "-m", "--smkey 1 -m", "-L leaf0", "-O 5")],
    "vendstat -N 1", "vendstat -N 5", "vendstat -w 5",
]

# What changes something, in this order, each with a look at what became of it. A host before a
# colon: there.
CHANGING = [
    "perfquery -r 5 3", "perfquery -R 5 4", "perfquery 5 3", "perfquery 5 4",
    "ibccconfig CongestionKeyInfo 5 0x1 0 0 0", "ibccquery ck 5",
    "ibccconfig SwitchCongestionSetting 7 0x1F 0x1E 0x0 0xF 8 0 0:0 1", "ibccquery ss 7",
    "ibccconfig SwitchPortCongestionSetting 7 2 1 1 8 4 16", "ibccquery sp 7 2",
    "ibccconfig CACongestionSetting 1 0 0x3 150 1 0 0", "ibccquery cs 1 # set",
    "ibccconfig CongestionControlTable 1 3 0 0:0 0:1 0:2 1:3", "ibccquery ct 1 # set",
    "ibportstate 5 2 disable", "ibportstate 5 2 query # disabled", "iblinkinfo -l # disabled",
    "h1: ibstat # disabled", "h1: ibstatus # disabled",    "ibportstate 5 2 enable",
]


def normalised(text):
    for pattern, replacement in VARIES:
        text = re.sub(pattern, replacement, text)
    return text


def compare(command, result, update):
    """The output of a command with what its file says; words after # only name the file."""
    path = GOLDEN / (re.sub(r"[^\w.,-]+", "_", command) + ".out")
    status = "did not end" if result.timed_out else f"status {result.status}"
    now = normalised(f"$ {command}    [{status}]\n{result.output}")
    if update:
        path.write_text(now)
        return now
    expect(path.exists(), f"no {path.name}: has it been read? (--update writes it)\n{now}")
    difference = "".join(difflib.unified_diff(
        path.read_text().splitlines(True), now.splitlines(True), f"golden/{path.name}", "now"))
    expect(not difference, difference)
    return now


def prepare(fabric):
    """A fabric where something has happened: a cable was pulled, data and a group's packets passed,
    two ports are in the group of all IPoIB ports, and one of them offers a service and wants to
    hear of everything."""
    fabric.command("link", "down", "-f", fabric.name, "leaf0", "3").check()
    fabric.command("link", "up", "-f", fabric.name, "leaf0", "3").check()
    wait_link(fabric, 5, 3, "Active")
    fabric.pair("h0", "h3", lambda port: ["ib_write_bw", "-d", "mlx5_0", "-p", str(port), "-n",
                                          "100", "-s", "65536"])
    fabric.pair("h0", "h3", lambda port: ["ib_send_bw", "-c", "UD", "-g", "-d", "mlx5_0", "-p",
                                          str(port), "-n", "100", "-s", "1024"])
    for host in ("h0", "h3"):
        raw_mad(fabric, host, "join")
    raw_mad(fabric, "h3", "service", "a service")
    raw_mad(fabric, "h3", "subscribe")


def wait_link(fabric, lid, port, state):
    end = time.monotonic() + 10
    while f"LinkState:.......................{state}\n" not in (
            seen := fabric.run("h0", ["smpquery", "portinfo", str(lid), str(port)]).output):
        expect(time.monotonic() < end, f"port {port} of lid {lid} never gets {state}\n{seen}")
        time.sleep(0.05)


def ibping(fabric):
    server = fabric.start("h3", ["ibping", "-S"])
    server.wait_until(
        lambda: " 0% packet loss" in fabric.run("h0", ["ibping", "-c", "1", "4"]).output,
        "an answer")
    result = fabric.run("h0", ["ibping", "-c", "3", "4"])
    server.signal(15)
    server.wait()
    fabric.programs.remove(server)
    return result


def balance(fabric):
    """check_lft_balance reads what two other tools wrote."""
    script = (f"cd {fabric.dir} && dump_lfts > lfts && ibnetdiscover --cache cache > /dev/null && "
              "check_lft_balance -l lfts -i cache -v; status=$?; rm -f lfts cache; exit $status")
    return fabric.run("h0", ["bash", "-c", script])


def main():
    need_programs("ib_send_bw", "ib_write_bw")
    # Tools in sbin; their scripts call one another.
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    need_programs("ibnetdiscover", "saquery", "perfquery", "check_lft_balance")
    report = Report("golden", update="write the files of golden/ anew")
    update = report.args.update
    with Fabric(*TREE) as fabric:
        prepare(fabric)

        def case(command, run=None):
            host, _, words = command.partition("#")[0].rpartition(": ")
            report.case("golden", command, lambda: compare(
                command, run(fabric) if run else fabric.run(host or "h0", words.split()), update))

        for command in READING:
            case(command)
        case("check_lft_balance -v", balance)
        case("ibping -c 3 4", ibping)
        for command in CHANGING:
            case(command)
        wait_state(fabric, "h1", "Active")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
