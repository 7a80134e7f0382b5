# SPDX-License-Identifier: BSD-2-Clause
"""A RoCEv2 peer in a few lines: a UDP socket, and datagrams of unreliable datagram queue pairs made
and taken apart by hand, with a check sum of its own (annex A17)."""

import ipaddress
import re
import socket
import struct
import zlib

PORT = 4791
QPN = 0x777
QKEY = 0x11111111
UD_SEND_ONLY = 0x64
BTH_DETH = 20
SIZES = (4, 61, 1024, 4096)
BATCH_MAX = 64  # The kernel counts Identification up in datagrams that were sent at once.


def gid_of(address):
    return ipaddress.ip_address(f"::ffff:{address}").exploded


def icrc(source, destination, body, ident, source_port=PORT):
    """Returns the ICRC of the packet from its BTH to its padding; fields that may change on the way
    count as ones."""
    total = 20 + 8 + len(body) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xFF, total, ident, 0x4000, 0xFF, 17, 0xFFFF,
                     ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed)
    udp = struct.pack(">HHHH", source_port, PORT, total - 20, 0xFFFF)
    masked = body[:4] + b"\xff" + body[5:]
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))


class Peer:
    def __init__(self, address):
        self.address = address

    def __enter__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        self.socket.bind((self.address, PORT))
        self.socket.settimeout(10)
        return self

    def __exit__(self, *_):
        self.socket.close()

    def receive(self):
        """Returns the payload of the next packet, and its sender."""
        datagram, (source, port) = self.socket.recvfrom(65536)
        assert port == PORT, f"from port {port}"
        body, check = datagram[:-4], datagram[-4:]
        assert any(check == icrc(source, self.address, body, ident)
                   for ident in range(BATCH_MAX)), f"ICRC {check.hex()} of {body[:32].hex()}..."
        opcode, flags, pkey, qpn, _psn, qkey, source_qpn = struct.unpack(
            ">BBHIIII", body[:BTH_DETH])
        assert (opcode, pkey, qpn & 0xFFFFFF, qkey) == (UD_SEND_ONLY, 0xFFFF, QPN, QKEY), (
            body[:20].hex())
        pad = flags >> 4 & 3
        return body[BTH_DETH:len(body) - pad], source, source_qpn & 0xFFFFFF

    def send(self, address, qpn, payload, spoil=b"\0\0\0\0", ident=0):
        """Sends a packet. `ident` is the Identification that its ICRC covers; the kernel writes 0,
        which no receiver sees."""
        pad = -len(payload) % 4
        body = struct.pack(">BBHIIII", UD_SEND_ONLY, pad << 4, 0xFFFF, qpn, 0, QKEY, QPN)
        body += payload + bytes(pad)
        check = bytes(a ^ b for a, b in zip(icrc(self.address, address, body, ident), spoil))
        self.socket.sendto(body + check, (address, PORT))

    def converse(self, program):
        """The program sends one message of each size. Answers: first with broken check sums, then
        as another network stack might have it, with an Identification."""
        for size in SIZES:
            payload, address, qpn = self.receive()
            assert payload == bytes(i * 7 % 251 for i in range(size)), (
                f"{size} bytes: {payload[:16].hex()}")
            for spoil in (b"\x01\0\0\0", b"\0\0\x40\x01", b"\xff\xff\xff\xff"):
                self.send(address, qpn, b"broken" + payload[6:], spoil)
            self.send(address, qpn, payload, ident=size % 3 * 4711)
        program.wait_until(lambda: re.search("^done$", program.output(), re.MULTILINE),
                           "the last answer")
        return f"{len(SIZES)} messages each way"
