#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our libibumad.so.3: its symbols against the distribution's, and what its calls do on a fabric.

On a fabric this file runs once more, as a program of host h0 (argument "inside").
"""

import ctypes
import errno
import glob
import os
import pathlib
import re
import select
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, find_build

NODES = {"IBUMAD_1.0": 36, "IBUMAD_1.1": 2, "IBUMAD_1.2": 1, "IBUMAD_1.3": 1, "IBUMAD_1.4": 2}
SM_LID, QKEY = 3, 0x80010000
HEADER = struct.Struct("=IIIII")  # agent, status, timeout, retries, length


def exports(path):
    output = subprocess.run(["readelf", "-W", "--dyn-syms", str(path)], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    found = re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (umad_\w+)@@(IBUMAD_\S+)", output)
    return set(found)


class Symbols(unittest.TestCase):
    def setUp(self):
        self.library, = find_build().glob("lib*/**/softib/libibumad.so.3")

    def test_every_version_node_has_its_symbols(self):
        ours = exports(self.library)
        self.assertEqual({node: sum(v == node for _, v in ours) for node in NODES}, NODES)

    def test_every_symbol_of_the_distribution_exists(self):
        theirs = glob.glob("/usr/lib/*/libibumad.so.3") + glob.glob("/usr/lib64/libibumad.so.3")
        if not theirs:
            self.skipTest("no libibumad.so.3 from the distribution")
        self.assertEqual(exports(theirs[0]) - exports(self.library), set())

    def test_name_flags_and_links(self):
        dynamic = subprocess.run(["readelf", "-W", "-d", str(self.library)], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        self.assertIn("soname: [libibumad.so.3]", dynamic)
        self.assertIn("NODELETE", dynamic)
        for needed in ("libstdc++", "libgcc_s", "libibumad", "libibverbs"):
            self.assertNotIn(f"Shared library: [{needed}", dynamic)


class OnAFabric(unittest.TestCase):
    def test_calls(self):
        with Fabric("--hosts", "2") as fabric:
            fabric.run("h0", [sys.executable, os.path.abspath(__file__), "inside"]).check()


class Inside(unittest.TestCase):
    def setUp(self):
        self.lib = ctypes.CDLL("libibumad.so.3", use_errno=True)
        self.lib.umad_size.restype = ctypes.c_size_t
        self.assertEqual((self.lib.umad_init(), self.lib.umad_size()), (0, 64))
        self.port = self.lib.umad_open_port(b"mlx5_0", 1)
        self.assertGreaterEqual(self.port, 0)
        self.agent = self.lib.umad_register(self.port, 3, 2, 1, None)
        self.assertEqual(self.agent, 0)
        self.buffer = ctypes.create_string_buffer(64 + 256)

    def tearDown(self):
        self.assertEqual(self.lib.umad_unregister(self.port, self.agent), 0)
        self.assertEqual(self.lib.umad_close_port(self.port), 0)

    def send(self, lid=SM_LID, tid=0x1111111122222222, timeout_ms=100, retries=0,
             attribute=0x38, length=256):
        mad = struct.pack(">BBBBHHQHHI", 1, 3, 2, 1, 0, 0, tid, attribute, 0, 0)
        ctypes.memset(self.buffer, 0, len(self.buffer))
        ctypes.memmove(ctypes.addressof(self.buffer) + 64, mad, len(mad))
        self.lib.umad_set_addr(self.buffer, lid, 1, 0, ctypes.c_int(QKEY - (1 << 32)))
        return self.lib.umad_send(self.port, self.agent, self.buffer, length, timeout_ms, retries)

    def recv(self, timeout_ms=5000, room=256):
        length = ctypes.c_int(room)
        result = self.lib.umad_recv(self.port, self.buffer, ctypes.byref(length), timeout_ms)
        return result, length.value

    def test_answer_keeps_the_transaction(self):
        self.assertEqual(self.send(attribute=0x31), 0)  # ServiceRecord: there is none.
        self.assertEqual(self.recv(), (self.agent, 256))
        mad = self.buffer.raw[64:]
        self.assertEqual(self.lib.umad_status(self.buffer), 0)
        self.assertEqual((mad[3], mad[8:16]), (0x81, b"\x11\x11\x11\x11\x22\x22\x22\x22"))
        self.assertEqual(struct.unpack_from(">H", mad, 4)[0], 0x0300)

    def test_port_can_be_polled(self):
        self.assertEqual(self.lib.umad_get_fd(self.port), self.port)
        self.assertEqual(select.select([self.port], [], [], 0)[0], [])
        self.assertEqual(self.lib.umad_poll(self.port, 10), -errno.ETIMEDOUT)
        self.send()
        self.assertEqual(select.select([self.port], [], [], 5)[0], [self.port])
        self.assertEqual(self.lib.umad_poll(self.port, 0), 0)
        self.recv()

    def test_nothing_to_receive(self):
        self.assertEqual(self.recv(0)[0], -errno.EWOULDBLOCK)
        self.assertEqual(self.recv(20)[0], -errno.ETIMEDOUT)
        self.assertEqual(self.recv(0, room=100)[0], -errno.EINVAL)

    def test_unanswered_send_comes_back(self):
        start = time.monotonic()
        self.assertEqual(self.send(lid=99, timeout_ms=50, retries=1), 0)
        self.assertEqual(self.recv(), (self.agent, 24))
        self.assertEqual(self.lib.umad_status(self.buffer), errno.ETIMEDOUT)
        self.assertGreaterEqual(time.monotonic() - start, 0.1)
        self.assertEqual(self.buffer.raw[64 + 12:64 + 16], b"\x22\x22\x22\x22")

    def test_unserved_attribute_is_refused_by_status(self):
        self.send(attribute=0x99)
        self.recv()
        self.assertEqual(struct.unpack_from(">H", self.buffer.raw, 68)[0], 0x000C)

    def test_long_answer_comes_whole_or_says_how_long_it_is(self):
        # SubnAdmGetTable(PortInfoRecord): one record of 64 + 8 bytes for every port.
        mad = struct.pack(">BBBBHHQHHI", 1, 3, 2, 0x12, 0, 0, 5, 0x12, 0, 0)
        ctypes.memset(self.buffer, 0, len(self.buffer))
        ctypes.memmove(ctypes.addressof(self.buffer) + 64, mad, len(mad))
        self.lib.umad_set_addr(self.buffer, SM_LID, 1, 0, ctypes.c_int(QKEY - (1 << 32)))
        self.assertEqual(self.lib.umad_send(self.port, self.agent, self.buffer, 256, 1000, 0), 0)
        result, length = self.recv()
        self.assertEqual(result, -errno.ENOSPC)
        self.assertEqual(self.lib.umad_poll(self.port, 0), 0)
        self.buffer = ctypes.create_string_buffer(64 + length)
        self.assertEqual(self.recv(room=length), (self.agent, length))
        self.assertEqual((length - 56) % 72, 0)
        records = (length - 56) // 72
        lids = [struct.unpack_from(">H", self.buffer.raw, 64 + 56 + 72 * i)[0]
                for i in range(records)]
        self.assertEqual(sorted(set(lids)), [1, 2, 3])
        self.assertGreater(records, 4)

    def test_bad_calls(self):
        self.assertEqual(self.send(length=10), -errno.EINVAL)
        self.assertEqual(self.send(length=(64 << 20) + 1), -errno.EINVAL)
        self.assertEqual(self.lib.umad_send(self.port, 5, self.buffer, 256, 0, 0), -errno.EINVAL)
        self.assertEqual(self.lib.umad_send(999, 0, self.buffer, 256, 0, 0), -errno.EINVAL)
        self.assertEqual(self.lib.umad_unregister(self.port, 9), -1)
        self.assertEqual(self.lib.umad_open_port(b"mlx5_9", 1), -errno.ENODEV)
        self.assertEqual(self.lib.umad_open_port(b"mlx5_0", 2), -errno.EINVAL)
        self.assertEqual(self.lib.umad_register_oui(self.port, 3, 0, b"\0\0\1", None),
                         -errno.EINVAL)

    def test_agents_have_a_limit(self):
        agents = [self.lib.umad_register(self.port, 4, 1, 0, None) for _ in range(31)]
        self.assertEqual(agents, list(range(1, 32)))
        self.assertEqual(self.lib.umad_register(self.port, 4, 1, 0, None), -errno.EPERM)
        for agent in agents:
            self.assertEqual(self.lib.umad_unregister(self.port, agent), 0)

    def test_hundred_ports_answer_each_its_own(self):
        ports = [self.lib.umad_open_port(None, 0) for _ in range(100)]
        self.assertTrue(all(port >= 0 for port in ports))
        own = self.port
        for port in ports:
            self.lib.umad_register(port, 3, 2, 0, None)
            self.port = port
            self.send(tid=port)
        for port in reversed(ports):
            self.port = port
            self.assertEqual(self.recv(), (0, 256))
            self.assertEqual(struct.unpack_from(">I", self.buffer.raw, 64 + 12)[0], port)
            self.lib.umad_close_port(port)
        self.port = own

    def test_names(self):
        for name in ("umad_class_str", "umad_method_str", "umad_attribute_str",
                     "umad_sa_mad_status_str"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        self.assertEqual(self.lib.umad_class_str(3), b"SubnAdm")
        self.assertEqual(self.lib.umad_method_str(3, 0x95), b"DeleteResp")
        self.assertEqual(self.lib.umad_attribute_str(3, 0x3800), b"MCMemberRecord")
        self.assertEqual(self.lib.umad_sa_mad_status_str(0x0002), b"Request Invalid")
        path = ctypes.create_string_buffer(64)
        self.assertEqual(self.lib.umad_get_issm_path(b"mlx5_0", 1, path, 64), 0)
        self.assertEqual(path.value, b"/dev/infiniband/issm0")


def main():
    inside = "inside" in sys.argv[1:]
    cases = (Inside,) if inside else (Symbols, OnAFabric)
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(c) for c in cases)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
