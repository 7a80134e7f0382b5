#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Management datagrams to the daemon: everything that a program sends is answered or refused."""

import errno
import os
import random
import struct
import unittest

from cli_case import CliCase
from test_daemon import Client, message, text

MAD_OPEN, MAD = 10, 11
# MadFrame of runtime/shm/requests.h.
FRAME = struct.Struct("=IIIIIHHBBxx")
SM_LID, QP1, QKEY = 3, 1, 0x80010000
TIMEOUT_MS = 50
MADS = int(os.environ.get("SOFTIB_GARBAGE_MADS", "2000"))


def body(mad, agent=7, lid=SM_LID, qpn=QP1, qkey=QKEY, timeout_ms=TIMEOUT_MS, retries=0,
         pkey_index=0):
    """Of request::Mad: the frame, the length of the message, its first MAD."""
    return (FRAME.pack(agent, timeout_ms, retries, qpn, qkey, lid, pkey_index, 0, 0) +
            struct.pack("=I", 0) + mad)


REPLY_BYTES = FRAME.size + 4 + 256


def header(mgmt_class=3, version=2, method=1, attribute=0x38, tid=1):
    return struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, method, 0, 0, tid, attribute, 0, 0)


class Mads(CliCase):
    def setUp(self):
        super().setUp()
        self.ok("up", "--hosts", "2")
        self.client = Client(f"{self.dir}/default")
        self.addCleanup(self.client.socket.close)

    def open(self, host=b"h0", hca=0, port=1):
        return self.client.ask(MAD_OPEN, text(host) + struct.pack("=IH", hca, port))[0]

    def ask(self, mad, **kwargs):
        """Returns (status, frame, MAD)."""
        status, reply, _ = self.client.ask(MAD, body(mad, **kwargs))
        return status, FRAME.unpack(reply[:FRAME.size]), reply[FRAME.size + 4:]

    def mad_status(self, mad, **kwargs):
        status, frame, reply = self.ask(mad, **kwargs)
        self.assertEqual((status, frame[0], len(reply)), (0, 7, 256))
        self.assertEqual(reply[8:16], mad[8:16])
        return struct.unpack_from(">H", reply, 4)[0]

    def test_only_an_open_port_of_the_host_sends(self):
        self.assertEqual(self.client.ask(MAD, body(bytes(256)))[0], errno.ENOTCONN)
        self.assertEqual(self.open(hca=1), errno.ENODEV)
        self.assertEqual(self.open(hca=99), errno.ENODEV)
        self.assertEqual(self.open(host=b"nobody"), errno.ENODEV)
        self.assertEqual(self.open(port=2), errno.ENODEV)
        self.assertEqual(self.open(), 0)
        self.assertEqual(self.open(), errno.EALREADY)
        for wrong in (b"", body(bytes(255)), body(bytes(257))):
            self.assertEqual(self.client.ask(MAD, wrong)[0], errno.EINVAL)

    def test_what_is_not_served_is_refused_politely(self):
        self.open()
        self.assertEqual(self.mad_status(header(attribute=0x99).ljust(256, b"\0")), 0x000C)
        self.assertEqual(self.mad_status(header(version=1).ljust(256, b"\0")), 0x0004)
        self.assertEqual(self.mad_status(header(mgmt_class=4, version=1).ljust(256, b"\0"), lid=2),
                         0x000C)
        self.assertEqual(self.mad_status(header(mgmt_class=1, version=1).ljust(256, b"\0"), qpn=0),
                         0x000C)
        route = struct.pack(">QHH", 0, 0xFFFF, 0xFFFF)  # M_Key, DrSLID, DrDLID.
        self.assertEqual(
            self.mad_status((header(mgmt_class=0x81, version=1) + route).ljust(256, b"\0"),
                            qpn=0, lid=0xFFFF),
            0x800C)
        # A class that no service on that host has.
        self.assertEqual(self.mad_status(header(mgmt_class=9, version=1).ljust(256, b"\0"), lid=2),
                         0x000C)
        # No record matches: an answer of the SA, not of the transport.
        self.assertEqual(self.mad_status(header(attribute=0x31).ljust(256, b"\0")), 0x0300)

    def test_what_does_not_arrive_comes_back_when_its_time_is_over(self):
        self.open()
        mad = header().ljust(256, b"\0")
        for wrong in ({"lid": 77}, {"lid": 0}, {"lid": 0xC000}, {"qpn": 5}, {"qkey": 1},
                      {"pkey_index": 1}, {"pkey_index": 60000}):
            status, frame, reply = self.ask(mad, **wrong)
            self.assertEqual((status, frame[0], reply), (errno.ETIMEDOUT, 7, mad), wrong)
        # An answer gets no answer.
        self.assertEqual(self.ask(header(method=0x81).ljust(256, b"\0"))[0], errno.ETIMEDOUT)

    def test_link_that_is_down_carries_no_mad(self):
        self.open()
        mad = header().ljust(256, b"\0")
        self.ok("link", "down", "h0/mlx5_0")
        self.assertEqual(self.ask(mad)[0], errno.ETIMEDOUT)
        self.ok("link", "up", "h0/mlx5_0")
        self.assertEqual(self.ask(mad)[0], 0)

    def test_waiting_mads_have_a_limit(self):
        self.open()
        for _ in range(1024):
            self.client.socket.send(
                message(MAD, body(header().ljust(256, b"\0"), lid=77, timeout_ms=60000)))
        self.assertEqual(self.ask(header().ljust(256, b"\0"), lid=77)[0], errno.ENOBUFS)
        self.assertEqual(self.ask(header().ljust(256, b"\0"))[0], 0)

    def test_any_256_bytes_are_answered_or_refused(self):
        self.open()
        random.seed(1)
        answered = 0
        for number in range(MADS):
            mad = bytearray(random.randbytes(256))
            if number % 2:  # Half of the MADs reach the records of the SA.
                mad[:4] = 1, 3, 2, random.choice((0x01, 0x02, 0x15))
                mad[16:18] = 0, 0x38
                mad[24:44] = bytes(20)  # One packet, no SM_Key: a wrong one gets no answer.
                mad[56:57] = b"\xff"
            status, reply, _ = self.client.ask(MAD, body(
                bytes(mad), timeout_ms=1, lid=random.choice((1, 2, SM_LID, SM_LID, 0xFFFF)),
                qpn=random.choice((0, 1, 1)),
                qkey=random.choice((QKEY, QKEY, random.getrandbits(32)))))
            self.assertIn(status, (0, errno.ETIMEDOUT))
            self.assertEqual(len(reply), REPLY_BYTES)
            answered += status == 0
        self.assertGreater(answered, MADS // 10)
        self.assertEqual(self.mad_status(header(attribute=0x99).ljust(256, b"\0")), 0x000C)
        self.ok("status")


if __name__ == "__main__":
    unittest.main()
