#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Wireshark reads our RoCEv2 frames, and zlib finds the same ICRC.

test_roce.py WRITE_ROCE_SAMPLES: write_roce_samples makes an Ethernet capture and says what is in
it. tshark says what it sees, IPv4's check sum included, which it computes; the ICRC it shows only.
"""
import ipaddress
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from test_tshark import COMPLAINTS_SHOWN, SKIPPED, UNKNOWN, frames_of, same, tshark_name

VLAN, IPV4, IPV6 = 0x8100, 0x0800, 0x86dd
ROCE_PORT = 4791
# Fields of the headers below the BTH, as tshark calls them.
OUTER = {
    "VLAN.Priority": "vlan.priority", "VLAN.ID": "vlan.id",
    "IPv4.Version": "ip.version", "IPv4.TotalLength": "ip.len", "IPv4.Identification": "ip.id",
    "IPv4.DF": "ip.flags.df", "IPv4.MF": "ip.flags.mf", "IPv4.FragmentOffset": "ip.frag_offset",
    "IPv4.TTL": "ip.ttl", "IPv4.Protocol": "ip.proto", "IPv4.Checksum": "ip.checksum",
    "IPv4.TOS": "ip.dsfield", "IPv4.Source": "ip.src", "IPv4.Destination": "ip.dst",
    "IPv6.IPVer": "ipv6.version", "IPv6.TClass": "ipv6.tclass", "IPv6.FlowLabel": "ipv6.flow",
    "IPv6.PayLen": "ipv6.plen", "IPv6.NxtHdr": "ipv6.nxt", "IPv6.HopLmt": "ipv6.hlim",
    "IPv6.SGID": "ipv6.src", "IPv6.DGID": "ipv6.dst",
    "UDP.SourcePort": "udp.srcport", "UDP.DestinationPort": "udp.dstport",
    "UDP.Length": "udp.length", "UDP.Checksum": "udp.checksum",
}
UNSHOWN = {"IPv4.IHL"}  # tshark shows bytes where we have words.


def frames_in(capture):
    """Returns the bytes of the frames."""
    data = Path(capture).read_bytes()
    at = 24
    while at < len(data):
        size = int.from_bytes(data[at + 8:at + 12], "little")
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def expected_icrc(frame):
    """Returns the ICRC of the frame's packet, from its own headers: zlib's CRC-32, with ones for
    fields that may change."""
    at, kind = 14, struct.unpack_from(">H", frame, 12)[0]
    if kind == VLAN:
        at, kind = 18, struct.unpack_from(">H", frame, 16)[0]
    packet = bytearray(frame[at:-4])
    if kind == IPV4:
        udp = 4 * (packet[0] & 15)
        for byte in (1, 8, 10, 11):
            packet[byte] = 0xff
    else:
        assert kind == IPV6, hex(kind)
        udp = 40
        packet[0] |= 0x0f
        for byte in (1, 2, 3, 7):
            packet[byte] = 0xff
    assert struct.unpack_from(">H", packet, udp + 2)[0] == ROCE_PORT
    for byte in (udp + 6, udp + 7, udp + 8 + 4):
        packet[byte] = 0xff
    return zlib.crc32(b"\xff" * 8 + bytes(packet)).to_bytes(4, "little")


def compare(expected, frames):
    """Returns complaints, and how many values agreed."""
    complaints, agreed = [], 0
    for line in expected.splitlines():
        number, struct_name, field, ours = line.split(" ", 3)
        what = f"{struct_name}.{field}"
        if what in UNKNOWN or what in UNSHOWN:
            continue
        theirs = frames[int(number)].get(OUTER.get(what) or tshark_name(struct_name, field))
        if what in ("IPv4.Source", "IPv4.Destination"):
            agrees = (bool(theirs) and
                      ipaddress.IPv4Address(int(ours)) == ipaddress.IPv4Address(theirs[0]))
        else:
            agrees = bool(theirs) and same(ours, theirs)
        agreed += agrees
        if not agrees:
            complaints.append(f"frame {number}: {what} is {ours}, tshark reads {theirs}")
    return complaints, agreed


def main():
    if shutil.which("tshark") is None:
        print("skipped: tshark is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        capture = str(Path(folder) / "roce.pcap")
        expected = subprocess.run([sys.argv[1], capture], check=True, capture_output=True,
                                  text=True).stdout
        frames = frames_of(capture, "-o", "ip.check_checksum:TRUE")
        complaints, agreed = compare(expected, frames)
        for number, frame in enumerate(frames_in(capture), 1):
            if expected_icrc(frame) != frame[-4:]:
                complaints.append(f"frame {number}: zlib computes another ICRC")
            status = frames[number].get("ip.checksum.status", ["1"])
            if status != ["1"]:
                complaints.append(f"frame {number}: tshark finds IPv4's check sum wrong: {status}")
    print("\n".join(complaints[:COMPLAINTS_SHOWN]))
    print(f"{agreed} values agree, {len(complaints)} do not")
    return 1 if complaints or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
