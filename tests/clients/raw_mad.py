#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends one MAD through libibumad and ends, for what no diagnostic program does:

    raw_mad.py join               joins the IPoIB broadcast group and never leaves it
    raw_mad.py pkeys LID KEY...   writes the first P_Keys of an adapter's port, behind the
                                  manager's back
    raw_mad.py lanes LID MODIFIER VL...   writes the lanes of the service levels, as
                                          SLtoVLMappingTable
    raw_mad.py service NAME [SECONDS]     registers a service of that name, for ever or so long
    raw_mad.py subscribe          wants to hear of all that the manager reports
    raw_mad.py alias METHOD INDEX GUID    asks for an alias GUID of the own port, or gives it back
"""

import ctypes
import struct
import sys

SMP_CLASS, SMP_VERSION = 1, 1
SA_CLASS, SA_VERSION = 3, 2
SET, DELETE = 2, 0x15
FOR_EVER = 0xFFFFFFFF
INFORM_INFO, PKEY_TABLE, SL_TO_VL, GUID_INFO_RECORD, SERVICE_RECORD, MC_MEMBER_RECORD = (
    0x03, 0x16, 0x17, 0x30, 0x31, 0x38)
QKEY = 0x80010000


class Port(ctypes.Structure):
    _fields_ = [("ca_name", ctypes.c_char * 20), ("portnum", ctypes.c_int),
                ("base_lid", ctypes.c_uint), ("lmc", ctypes.c_uint), ("sm_lid", ctypes.c_uint),
                ("sm_sl", ctypes.c_uint), ("state", ctypes.c_uint), ("phys_state", ctypes.c_uint),
                ("rate", ctypes.c_uint), ("capmask", ctypes.c_uint32),
                ("gid_prefix", ctypes.c_uint64), ("port_guid", ctypes.c_uint64),
                ("pkeys_size", ctypes.c_uint), ("pkeys", ctypes.c_void_p),
                ("link_layer", ctypes.c_char * 20)]


class Sender:
    def __init__(self):
        self.umad = ctypes.CDLL("libibumad.so.3")
        self.umad.umad_get_mad.restype = ctypes.c_void_p
        self.umad.umad_size.restype = ctypes.c_size_t
        self.port = Port()
        if self.umad.umad_init() < 0 or self.umad.umad_get_port(
                None, 0, ctypes.byref(self.port)) < 0:
            sys.exit("no port")
        self.portid = self.umad.umad_open_port(self.port.ca_name, self.port.portnum)
        # Both are in network order already.
        self.own_gid = struct.pack("=QQ", self.port.gid_prefix, self.port.port_guid)

    def ask(self, mgmt_class, version, method, attribute, modifier, rest, lid, qpn, qkey):
        """Sends the MAD. Returns the whole answer."""
        agent = self.umad.umad_register(self.portid, mgmt_class, version, 0, None)
        header = struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, method, 0, 0, 0x1234,
                             attribute, 0, modifier)
        mad = (header + rest).ljust(256, b"\0")
        buffer = ctypes.create_string_buffer(self.umad.umad_size() + 256)
        ctypes.memmove(self.umad.umad_get_mad(buffer), mad, len(mad))
        self.umad.umad_set_addr(buffer, lid, qpn, self.port.sm_sl, qkey)
        if self.umad.umad_send(self.portid, agent, buffer, 256, 1000, 3) < 0:
            sys.exit("cannot send")
        length = ctypes.c_int(256)
        if (self.umad.umad_recv(self.portid, buffer, ctypes.byref(length), 5000) < 0
                or self.umad.umad_status(buffer) != 0):
            sys.exit("no answer")
        answer = ctypes.string_at(self.umad.umad_get_mad(buffer), 256)
        status = struct.unpack_from(">H", answer, 4)[0]
        if status != 0:
            sys.exit(f"refused with status {status:#x}")
        return answer

    def smp(self, method, attribute, modifier, data, lid):
        return self.ask(SMP_CLASS, SMP_VERSION, method, attribute, modifier,
                        bytes(8 + 32) + data, lid, 0, 0)

    def sa(self, method, attribute, components, record):
        head = bytes(12) + struct.pack(">QHHQ", 0, 0, 0, components)
        return self.ask(SA_CLASS, SA_VERSION, method, attribute, 0, head + record,
                        self.port.sm_lid, 1, QKEY)


def join(sender):
    mgid, full_member = bytes.fromhex("ff12401bffff000000000000ffffffff"), bytes([1])
    components = 1 << 0 | 1 << 1 | 1 << 16  # MGID, PortGID, JoinState
    sender.sa(SET, MC_MEMBER_RECORD, components, mgid + sender.own_gid + bytes(16) + full_member)


def pkeys(sender, lid, *keys):
    table = [int(key, 16) for key in keys]
    sender.smp(SET, PKEY_TABLE, 0, struct.pack(">32H", *table, *[0] * (32 - len(table))), int(lid))


def lanes(sender, lid, modifier, *vls):
    pairs = [int(vls[i]) << 4 | int(vls[i + 1]) for i in range(0, 16, 2)]
    sender.smp(SET, SL_TO_VL, int(modifier), bytes(pairs), int(lid))


def alias(sender, method, index, guid):
    components = 1 << 0 | 1 << 1 | 1 << 4 + int(index)  # LID, BlockNum, the GUID
    guids = [int(guid, 16) if i == int(index) else 0 for i in range(8)]
    record = struct.pack(">HBBI8Q", sender.port.base_lid, 0, 0, 0, *guids)
    answer = sender.sa({"set": SET, "delete": DELETE}[method], GUID_INFO_RECORD, components, record)
    print(*(f"0x{found:016x}" for found in struct.unpack_from(">8Q", answer, 56 + 8)))


def service(sender, name, lease=FOR_EVER):
    components = 0x7F  # All but the data.
    record = struct.pack(">Q16sHHI16s64s", 0x1000000000000042, sender.own_gid, 0xFFFF, 0,
                         int(lease), bytes(16), name.encode()) + bytes(range(64))
    sender.sa(SET, SERVICE_RECORD, components, record)


def subscribe(sender):
    all_lids, generic, yes, all_types, all_traps, all_producers = (
        (0xFFFF, 0), 1, 1, 0xFFFF, 0xFFFF, 0xFFFFFF)
    qpn, response_time = 1, 18
    record = struct.pack(
        ">16sHHHBBHHIBBH", bytes(16), *all_lids, 0, generic, yes, all_types, all_traps,
        qpn << 8 | response_time, 0, all_producers >> 16, all_producers & 0xFFFF)
    sender.sa(SET, INFORM_INFO, 0, record)


if __name__ == "__main__":
    {"join": join, "pkeys": pkeys, "lanes": lanes, "alias": alias, "service": service,
     "subscribe": subscribe}[sys.argv[1]](Sender(), *sys.argv[2:])
