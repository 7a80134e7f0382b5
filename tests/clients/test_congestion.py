#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The distribution's congestion control tools, unmodified: ibccquery reads all attributes of HCAs
and switches, ibccquery reads back what ibccconfig writes, and a key keeps strangers out. Tools of a
class that no node has get a clean refusal."""

import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, Failure, Report, need_programs

# Two leaves with two hosts each, two spines. LIDs: hosts 1 to 4, then leaf0, leaf1, spine0, spine1.
TREE = ("--hosts", "4", "--topology", "fat-tree", "--radix", "4")
HCA, SWITCH = 2, 5
KEY = "0x1122334455667788"

# What ibccquery shows of a fabric that is not configured: operation, LID, lines.
QUERIES = [
    ("ClassPortInfo", HCA, [r"ClassVersion:\.+2$", r"RespTimeVal:\.+16$"]),
    ("ClassPortInfo", SWITCH, [r"ClassVersion:\.+2$"]),
    ("CongestionInfo", HCA, [r"ControlTableCap:\.+2$"]),
    ("CongestionInfo", SWITCH, [r"CongestionInfo:\.+0x0000$", r"ControlTableCap:\.+0$"]),
    ("CongestionKeyInfo", HCA,
     [r"CC_Key:\.+0x0+$", r"CC_KeyProtectBit:\.+0$", r"CC_KeyViolations:\.+0$"]),
    ("CongestionKeyInfo", SWITCH, [r"CC_Key:\.+0x0+$", r"CC_KeyLeasePeriod:\.+0$"]),
    ("CongestionLog", HCA, [r"LogType:\.+2$", r"ThresholdEventCounter:\.+0$"]),
    ("CongestionLog", SWITCH, [r"LogType:\.+1$", r"LogEventsCounter:\.+0$"]),
    ("SwitchCongestionSetting", SWITCH, [r"Control_Map:\.+0x0+$", r"Marking_Rate:\.+0$"]),
    ("SwitchPortCongestionSetting", SWITCH, [r"Port:\.+0$", r"Port:\.+4$", r"Valid:\.+0$"]),
    ("CACongestionSetting", HCA, [r"Port_Control:\.+0x0000$", r"SL:\.+15$", r"CCTI_Timer:\.+0$"]),
    ("CongestionControlTable", HCA, [r"CCTI_Limit:\.+0$"]),
    ("Timestamp", HCA, [r"Timestamp:\.+\d+$"]),
    ("Timestamp", SWITCH, [r"Timestamp:\.+\d+$"]),
]
# Attributes that nodes do not have: they answer with a status, without a timeout.
REFUSED = [
    f"ibccquery SwitchCongestionSetting {HCA}",
    f"ibccquery CACongestionSetting {SWITCH}",
    f"ibccquery CongestionControlTable {SWITCH}",
    f"ibccconfig SwitchCongestionSetting {HCA} 0x1F 0 0 1 1 0 0:0 1",
    f"ibccconfig CACongestionSetting {SWITCH} 0 1 1 1 1 1",
    f"vendstat -N {SWITCH}",
    f"vendstat -N {HCA}",
    f"vendstat -w {SWITCH}",
]
# What ibccconfig writes, and what ibccquery then shows.
WRITES = [
    ("SwitchCongestionSetting", SWITCH, "0x1F 0x1E 0x3 15 8 4 1:77 6", "",
     [r"Control_Map:\.+0x0000001f$", r"Victim_Mask:\.+0+1e$", r"Credit_Mask:\.+0+3$",
      r"Threshold:\.+0x0f$", r"Packet_Size:\.+8$", r"CS_Threshold:\.+0x04$",
      r"CS_ReturnDelay:\.+0x404d$", r"Marking_Rate:\.+6$"]),
    ("SwitchPortCongestionSetting", SWITCH, "3 1 1 9 10 11", "3",
     [r"Valid:\.+1$", r"Control_Type:\.+1$", r"Threshold:\.+0x09$", r"Packet_Size:\.+10$",
      r"Cong_Parm_Marking_Rate:\.+11$"]),
    ("CACongestionSetting", HCA, "1 0x4 200 3 4 5", "",
     [r"Port_Control:\.+0x0001$", r"Control_Map:\.+0x0004$",
      r"SL:\.+2\nCCTI_Timer:\.+200\nCCTI_Increase:\.+3\nTrigger_Threshold:\.+4\nCCTI_Min:\.+5",
      r"SL:\.+3\nCCTI_Timer:\.+0$"]),
    ("CongestionControlTable", HCA, "2 0 0:0 1:5 3:16383", "",
     [r"CCTI_Limit:\.+2$", r"Entry:\.+1\nCCT_Shift:\.+1\nCCT_Multiplier:\.+5$",
      r"Entry:\.+2\nCCT_Shift:\.+3\nCCT_Multiplier:\.+16383$"]),
]


def expect(condition, text):
    if not condition:
        raise Failure(text)


def tool(fabric, line):
    return fabric.run("h0", line.split())


def shows(fabric, line, lines):
    result = tool(fabric, line).check()
    for wanted in lines:
        expect(re.search(wanted, result.output, re.MULTILINE), f"expected {wanted}\n{result}")
    return str(result)


def refused(fabric, line):
    """The node refuses by a status, not by silence."""
    program, rest = line.split(" ", 1)
    result = tool(fabric, f"{program} -e {rest}")
    expect(not result.timed_out and result.status != 0, str(result))
    expect("completed with error status" in result.output, f"nobody answered\n{result}")
    return str(result)


def written(fabric, operation, lid, arguments, port, lines):
    tool(fabric, f"ibccconfig {operation} {lid} {arguments}").check()
    return shows(fabric, f"ibccquery {operation} {lid} {port}".strip(), lines)


def second_block(fabric):
    """The table's second half, up to its last entry; a limit beyond it is refused."""
    entries = " ".join(f"1:{64 + i}" for i in range(64))
    text = written(fabric, "CongestionControlTable", HCA, f"127 1 {entries}", "",
                   [r"CCTI_Limit:\.+127$", r"Entry:\.+127\nCCT_Shift:\.+1\nCCT_Multiplier:\.+127$"])
    refused(fabric, f"ibccconfig CongestionControlTable {HCA} 191 2 {entries}")
    return text


def key(fabric, lid, operation, arguments, lines):
    """With a key, only a requester that gives it can write, see it, and is not counted."""
    tool(fabric, f"ibccconfig CongestionKeyInfo {lid} {KEY} 1 0 0").check()
    before = tool(fabric, f"ibccquery {operation} {lid}").check().output
    stranger = tool(fabric, f"ibccconfig -t 200 {operation} {lid} {arguments}")
    expect(stranger.status != 0, str(stranger))
    after = tool(fabric, f"ibccquery {operation} {lid}").check().output
    expect(before == after, f"a stranger changed it\n{before}\n{after}")
    shows(fabric, f"ibccquery CongestionKeyInfo {lid}",
          [r"CC_Key:\.+0x0+$", r"CC_KeyProtectBit:\.+1$"])
    shows(fabric, f"ibccquery -c {KEY} CongestionKeyInfo {lid}",
          [rf"CC_Key:\.+{KEY}$", r"CC_KeyViolations:\.+[1-9]\d*$"])
    tool(fabric, f"ibccconfig -c {KEY} {operation} {lid} {arguments}").check()
    text = shows(fabric, f"ibccquery {operation} {lid}", lines)
    tool(fabric, f"ibccconfig -c {KEY} CongestionKeyInfo {lid} 0 0 0 0").check()
    shows(fabric, f"ibccquery CongestionKeyInfo {lid}",
          [r"CC_Key:\.+0x0+$", r"CC_KeyViolations:\.+0$"])
    return text


def time_passes(fabric, lid):
    def now():
        return int(re.search(
            r"Timestamp:\.+(\d+)$", tool(fabric, f"ibccquery TI {lid}").check().output,
            re.MULTILINE)[1])
    first, second = now(), now()
    expect((second - first) % (1 << 32) < 1 << 31 and first != second, f"{first}, then {second}")
    return f"{first}, then {second}"


def main():
    # Tools in sbin.
    os.environ["PATH"] = "/usr/sbin:/sbin:" + os.environ["PATH"]
    need_programs("ibccquery", "ibccconfig", "vendstat")
    report = Report("congestion")
    with Fabric(*TREE) as fabric:
        for operation, lid, lines in QUERIES:
            report.case("ibccquery", f"{operation} {lid}",
                        lambda: shows(fabric, f"ibccquery {operation} {lid}", lines))
        for lid in (HCA, SWITCH):
            report.case("ibccquery", f"the clock of {lid}", lambda: time_passes(fabric, lid))
        for line in REFUSED:
            report.case("refused", line, lambda: refused(fabric, line))
        for operation, lid, arguments, port, lines in WRITES:
            report.case("ibccconfig", f"{operation} {lid}",
                        lambda: written(fabric, operation, lid, arguments, port, lines))
        report.case("ibccconfig", "CongestionControlTable, second block",
                    lambda: second_block(fabric))
        report.case("key", "of a switch", lambda: key(
            fabric, SWITCH, "SwitchCongestionSetting", "0x10 0 0 0 0 0 0:0 99",
            [r"Marking_Rate:\.+99$"]))
        report.case("key", "of an adapter", lambda: key(
            fabric, HCA, "CACongestionSetting", "0 0x1 9 1 1 1", [r"SL:\.+0\nCCTI_Timer:\.+9$"]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
