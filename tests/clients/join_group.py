#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Joins the IPoIB broadcast group by a MAD of its own, through libibumad, and ends without leaving."""

import ctypes
import struct
import sys

SA_CLASS, SA_VERSION, SET, MC_MEMBER_RECORD = 3, 2, 2, 0x38
MGID_MASK, PORT_GID_MASK, JOIN_STATE_MASK = 1 << 0, 1 << 1, 1 << 16
MGID = bytes.fromhex("ff12401bffff000000000000ffffffff")
QKEY = 0x80010000
FULL_MEMBER = 1


class Port(ctypes.Structure):
    _fields_ = [("ca_name", ctypes.c_char * 20), ("portnum", ctypes.c_int),
                ("base_lid", ctypes.c_uint), ("lmc", ctypes.c_uint), ("sm_lid", ctypes.c_uint),
                ("sm_sl", ctypes.c_uint), ("state", ctypes.c_uint), ("phys_state", ctypes.c_uint),
                ("rate", ctypes.c_uint), ("capmask", ctypes.c_uint32),
                ("gid_prefix", ctypes.c_uint64), ("port_guid", ctypes.c_uint64),
                ("pkeys_size", ctypes.c_uint), ("pkeys", ctypes.c_void_p),
                ("link_layer", ctypes.c_char * 20)]


def set_record(attribute, components, make):
    """SubnAdmSet of make(own GID) to the port's administration."""
    umad = ctypes.CDLL("libibumad.so.3")
    umad.umad_get_mad.restype = ctypes.c_void_p
    umad.umad_size.restype = ctypes.c_size_t
    port = Port()
    if umad.umad_init() < 0 or umad.umad_get_port(None, 0, ctypes.byref(port)) < 0:
        sys.exit("no port")
    portid = umad.umad_open_port(port.ca_name, port.portnum)
    agent = umad.umad_register(portid, SA_CLASS, SA_VERSION, 0, None)
    # Both are in network order already.
    own_gid = struct.pack("=QQ", port.gid_prefix, port.port_guid)
    header = struct.pack(">BBBBHHQHHI", 1, SA_CLASS, SA_VERSION, SET, 0, 0, 0x1234, attribute, 0, 0)
    sa = struct.pack(">QHHQ", 0, 0, 0, components)
    mad = (header + bytes(12) + sa + make(own_gid)).ljust(256, b"\0")
    buffer = ctypes.create_string_buffer(umad.umad_size() + 256)
    ctypes.memmove(umad.umad_get_mad(buffer), mad, len(mad))
    umad.umad_set_addr(buffer, port.sm_lid, 1, port.sm_sl, QKEY)
    if umad.umad_send(portid, agent, buffer, 256, 1000, 3) < 0:
        sys.exit("cannot send")
    length = ctypes.c_int(256)
    if umad.umad_recv(portid, buffer, ctypes.byref(length), 5000) < 0 or umad.umad_status(buffer) != 0:
        sys.exit("no answer")
    status = struct.unpack(">H", ctypes.string_at(umad.umad_get_mad(buffer) + 4, 2))[0]
    if status != 0:
        sys.exit(f"refused with status {status:#x}")


def main():
    set_record(MC_MEMBER_RECORD, MGID_MASK | PORT_GID_MASK | JOIN_STATE_MASK,
               lambda own_gid: MGID + own_gid + bytes(16) + bytes([FULL_MEMBER]))


if __name__ == "__main__":
    main()
