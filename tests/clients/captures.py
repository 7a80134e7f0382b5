# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of packets on cables share: softib capture, and the content of its files."""

import pathlib
import signal
import struct
import subprocess
import zlib

from softib_test import Failure

PCAP_HEADER, PCAP_RECORD, ERF_HEADER = 24, 16, 16
LRH, GRH, ICRC, VCRC = 8, 40, 4, 2


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Capture:
    """Runs softib capture while the block runs."""

    def __init__(self, fabric, file, *words):
        self.fabric, self.file, self.words = fabric, file, words

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.fabric.softib, "capture", "-f", self.fabric.name, "-w", str(self.file),
             *self.words],
            env=self.fabric.env, stderr=subprocess.PIPE, text=True)
        expect("capturing" in self.process.stderr.readline(), "softib capture does not begin")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate()[1]
        expect(self.process.returncode == 0, self.said)


def packets_of(file):
    """Returns the packets of a capture, from LRH to VCRC."""
    data = pathlib.Path(file).read_bytes()
    at = PCAP_HEADER
    while at < len(data):
        kept, wire = struct.unpack_from("<II", data, at + 8)
        expect(kept == wire, "a packet was cut")
        at += PCAP_RECORD
        yield data[at + ERF_HEADER:at + kept]
        at += kept


def icrc_is_right(packet):
    """Returns the ICRC as the specification says, computed with zlib's CRC-32 instead of ours."""
    masked = bytearray(packet[:-ICRC - VCRC])
    has_grh = packet[1] & 3 == 3
    if has_grh:
        masked[:LRH] = b"\xff" * LRH
        masked[LRH] |= 0x0F
        masked[LRH + 1:LRH + 4] = b"\xff" * 3
        masked[LRH + 7] = 0xFF
    else:
        masked[0] |= 0xF0
    masked[LRH + (GRH if has_grh else 0) + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(bytes(masked))) == packet[-ICRC - VCRC:-VCRC]


def vcrc_is_right(packet):
    state = 0xFFFF
    for byte in packet[:-VCRC]:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0xD008 if state & 1 else 0)
    return struct.pack("<H", state ^ 0xFFFF) == packet[-VCRC:]


def write_bw(fabric, *words):
    for result in fabric.pair(
            "h1", "h0", lambda port: ["ib_write_bw", "-d", "mlx5_0", "-p", str(port), *words]):
        result.check()
    return result.output
