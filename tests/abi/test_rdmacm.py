#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our librdmacm.so.1: its symbols against the distribution's, and what its calls do on a fabric.

On a fabric this file runs once more, as a program of host h0 (argument "inside").
"""

import ctypes
import errno
import fcntl
import glob
import os
import pathlib
import re
import select
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from softib_test import Fabric, find_build

NODES = {"RDMACM_1.0": 62, "RDMACM_1.1": 1, "RDMACM_1.2": 2, "RDMACM_1.3": 3, "RDMACM_1.4": 3,
         "RDMACM_1.5": 3}
PS_TCP, PS_UDP = 0x0106, 0x0111
ADDR_RESOLVED, ROUTE_RESOLVED, REJECTED = 0, 2, 8
OPTION_IB, OPTION_IB_PATH = 1, 1
PATH_GMP, PATH_PRIMARY, PATH_ALTERNATE, PATH_BOTH_WAYS = 1, 2, 4, 0x28
# Of a rdma_cm_id: GIDs and paths of its route; of an ibv_sa_path_rec.
OFFSET_GIDS, OFFSET_PATHS, OFFSET_DLID = 288, 328, 32


def exports(path):
    output = subprocess.run(["readelf", "-W", "--dyn-syms", str(path)], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return set(re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (r\w+)@@(RDMACM_\S+)", output))


class Symbols(unittest.TestCase):
    def setUp(self):
        self.library, = find_build().glob("lib*/**/softib/librdmacm.so.1")

    def test_every_version_node_has_its_symbols(self):
        ours = exports(self.library)
        self.assertEqual({node: sum(v == node for _, v in ours) for node in NODES}, NODES)

    def test_every_symbol_of_the_distribution_exists(self):
        theirs = glob.glob("/usr/lib/*/librdmacm.so.1") + glob.glob("/usr/lib64/librdmacm.so.1")
        if not theirs:
            self.skipTest("no librdmacm.so.1 from the distribution")
        self.assertGreater(len(exports(theirs[0])), 60)
        self.assertEqual(exports(theirs[0]) - exports(self.library), set())

    def test_name_flags_and_links(self):
        dynamic = subprocess.run(["readelf", "-W", "-d", str(self.library)], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        self.assertIn("soname: [librdmacm.so.1]", dynamic)
        self.assertIn("Shared library: [libibverbs.so.1]", dynamic)
        self.assertIn("NODELETE", dynamic)
        for needed in ("libstdc++", "libgcc_s", "librdmacm"):
            self.assertNotIn(f"Shared library: [{needed}", dynamic)


class OnAFabric(unittest.TestCase):
    def test_calls(self):
        with Fabric("--hosts", "2") as fabric:
            fabric.run("h0", [sys.executable, os.path.abspath(__file__), "inside"]).check()


def sockaddr(host, port):
    return ctypes.create_string_buffer(
        struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host) +
        bytes(8))


class AddrInfo(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_int), ("family", ctypes.c_int), ("qp_type", ctypes.c_int),
                ("port_space", ctypes.c_int), ("src_len", ctypes.c_uint32),
                ("dst_len", ctypes.c_uint32), ("src_addr", ctypes.c_void_p),
                ("dst_addr", ctypes.c_void_p), ("rest", ctypes.c_void_p * 7)]


class Inside(unittest.TestCase):
    def setUp(self):
        self.lib = ctypes.CDLL("librdmacm.so.1", use_errno=True)
        self.lib.rdma_create_event_channel.restype = ctypes.POINTER(ctypes.c_int)
        self.lib.rdma_event_str.restype = ctypes.c_char_p
        self.channel = self.lib.rdma_create_event_channel()
        self.assertTrue(self.channel)
        self.fd = self.channel[0]
        self.ids = []

    def tearDown(self):
        for each in self.ids:
            self.assertEqual(self.lib.rdma_destroy_id(each), 0)
        self.lib.rdma_destroy_event_channel(self.channel)

    def create(self, space=PS_TCP):
        made = ctypes.c_void_p()
        self.assertEqual(self.lib.rdma_create_id(self.channel, ctypes.byref(made), None, space), 0)
        self.ids.append(made)
        return made

    def event(self):
        """Returns (type, status) of the next event."""
        event = ctypes.c_void_p()
        if self.lib.rdma_get_cm_event(self.channel, ctypes.byref(event)) != 0:
            raise OSError(ctypes.get_errno(), "rdma_get_cm_event")
        fields = struct.unpack_from("=QQIi", ctypes.string_at(event.value, 24))
        self.assertEqual(self.lib.rdma_ack_cm_event(event), 0)
        return fields[2:]

    def error_of(self, status):
        self.assertEqual(status, -1)
        return ctypes.get_errno()

    def readable(self, timeout_s=0):
        return bool(select.select([self.fd], [], [], timeout_s)[0])

    def test_channel_is_a_descriptor_to_poll(self):
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_NONBLOCK)
        with self.assertRaises(BlockingIOError):
            self.event()
        self.assertFalse(self.readable())
        one = self.create()
        self.assertEqual(self.lib.rdma_resolve_addr(one, None, sockaddr("127.55.1.1", 1), 1000), 0)
        self.assertTrue(self.readable(5))
        self.assertEqual(self.event(), (ADDR_RESOLVED, 0))
        with self.assertRaises(BlockingIOError):
            self.event()

    def test_destroying_takes_events_along(self):
        one = self.create()
        self.assertEqual(self.lib.rdma_resolve_addr(one, None, sockaddr("127.55.1.1", 1), 1000), 0)
        self.assertTrue(self.readable(5))
        self.assertEqual(self.lib.rdma_destroy_id(self.ids.pop()), 0)
        self.assertFalse(self.readable())

    def test_refused_where_nobody_listens(self):
        one = self.create()
        self.assertEqual(self.lib.rdma_resolve_addr(one, None, sockaddr("127.55.1.1", 1), 1000), 0)
        self.assertEqual(self.event(), (ADDR_RESOLVED, 0))
        self.assertEqual(self.lib.rdma_resolve_route(one, 1000), 0)
        self.assertEqual(self.event(), (ROUTE_RESOLVED, 0))
        parameters = ctypes.create_string_buffer(24)
        self.assertEqual(self.lib.rdma_connect(one, parameters), 0)
        self.assertEqual(self.event(), (REJECTED, 8))

    def test_states_are_checked(self):
        one = self.create()
        self.assertEqual(self.error_of(self.lib.rdma_resolve_route(one, 1000)), errno.EINVAL)
        self.assertEqual(self.error_of(self.lib.rdma_accept(one, ctypes.create_string_buffer(24))),
                         errno.EINVAL)
        self.assertEqual(self.error_of(self.lib.rdma_reject(one, None, 0)), errno.EINVAL)

    def test_of_several_paths_the_primary_is_taken(self):
        one = self.create()
        self.assertEqual(self.lib.rdma_resolve_addr(one, None, sockaddr("127.55.1.1", 1), 1000), 0)
        self.assertEqual(self.event(), (ADDR_RESOLVED, 0))
        sgid, dgid = struct.unpack("16s16s", ctypes.string_at(one.value + OFFSET_GIDS, 32))

        def path(flags, dlid):
            record = struct.pack(">Q16s16sHHIBBHHBBBB6x", 0, dgid, sgid, dlid, 1, 0, 0, 0x81,
                                 0xFFFF, 0, 0x84, 0x83, 0x92, 0)
            return struct.pack("=II", flags, 0) + record

        def set_paths(*paths):
            return self.lib.rdma_set_option(one, OPTION_IB, OPTION_IB_PATH, b"".join(paths),
                                            ctypes.c_size_t(sum(map(len, paths))))

        alternate = path(PATH_GMP | PATH_ALTERNATE | PATH_BOTH_WAYS, 0x11)
        primary = path(PATH_GMP | PATH_PRIMARY | PATH_BOTH_WAYS, 0x22)
        for refused in ((), (alternate,), (path(PATH_PRIMARY, 0x33),), (primary[:-1],)):
            self.assertEqual(self.error_of(set_paths(*refused)), errno.EINVAL)
        self.assertEqual(set_paths(alternate, primary), 0)
        self.assertEqual(self.event(), (ROUTE_RESOLVED, 0))
        taken, = struct.unpack("=Q", ctypes.string_at(one.value + OFFSET_PATHS, 8))
        self.assertEqual(ctypes.string_at(taken + OFFSET_DLID, 2), b"\x00\x22")

    def test_options_of_vendors_are_checked(self):
        one = self.create()
        for vendor, mask in ((0, 0), (0x15B3, 1)):
            ece = struct.pack("=III", vendor, 0, mask)
            self.assertEqual(self.error_of(self.lib.rdma_set_local_ece(one, ece)), errno.EINVAL)
        self.assertEqual(self.lib.rdma_set_local_ece(one, struct.pack("=III", 0x15B3, 1, 0)), 0)
        remote = ctypes.create_string_buffer(b"\xff" * 12, 12)
        self.assertEqual(self.lib.rdma_get_remote_ece(one, remote), 0)
        self.assertEqual(remote.raw, bytes(12))

    def test_ports_are_the_hosts(self):
        at = sockaddr("0.0.0.0", 5000)
        self.assertEqual(self.lib.rdma_bind_addr(self.create(), at), 0)
        self.assertEqual(self.error_of(self.lib.rdma_bind_addr(self.create(), at)),
                         errno.EADDRINUSE)
        self.assertEqual(self.lib.rdma_bind_addr(self.create(PS_UDP), at), 0)
        elsewhere = sockaddr("127.55.1.1", 0)
        self.assertEqual(self.error_of(self.lib.rdma_bind_addr(self.create(), elsewhere)),
                         errno.EADDRNOTAVAIL)
        one = self.create()
        self.assertEqual(self.lib.rdma_bind_addr(one, sockaddr("127.0.0.1", 0)), 0)
        self.assertNotEqual(self.lib.rdma_get_src_port(one), 0)

    def test_names_of_hosts_are_known(self):
        found = ctypes.POINTER(AddrInfo)()
        self.assertEqual(self.lib.rdma_getaddrinfo(b"h1", b"5000", None, ctypes.byref(found)), 0)
        address = ctypes.string_at(found.contents.dst_addr, found.contents.dst_len)
        self.assertEqual(address[2:8], struct.pack(">H", 5000) + socket.inet_aton("127.55.1.1"))
        self.lib.rdma_freeaddrinfo(found)
        self.assertNotEqual(
            self.lib.rdma_getaddrinfo(b"no.such.host.invalid", b"1", None, ctypes.byref(found)), 0)

    def test_devices(self):
        self.lib.rdma_get_devices.restype = ctypes.c_void_p
        count = ctypes.c_int()
        devices = self.lib.rdma_get_devices(ctypes.byref(count))
        self.assertTrue(devices)
        self.assertEqual(count.value, 1)
        self.lib.rdma_free_devices(ctypes.c_void_p(devices))

    def test_rpoll_takes_ordinary_descriptors(self):
        reader, writer = os.pipe()
        poll = ctypes.create_string_buffer(struct.pack("=ihh", reader, select.POLLIN, 0))
        self.assertEqual(self.lib.rpoll(poll, 1, 0), 0)
        os.write(writer, b"x")
        self.assertEqual(self.lib.rpoll(poll, 1, 0), 1)
        os.close(reader)
        os.close(writer)

    def test_events_have_names(self):
        self.assertEqual(self.lib.rdma_event_str(REJECTED), b"RDMA_CM_EVENT_REJECTED")
        self.assertEqual(self.lib.rdma_event_str(99), b"UNKNOWN EVENT")


def main():
    inside = "inside" in sys.argv[1:]
    cases = (Inside,) if inside else (Symbols, OnAFabric)
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(c) for c in cases)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
