#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Registers a service and a subscription to all that the manager reports, and ends without undoing it."""

import struct

from join_group import set_record

INFORM_INFO, SERVICE_RECORD = 0x03, 0x31
FOR_EVER = 0xFFFFFFFF
ALL_LIDS = (0xFFFF, 0)
GENERIC, SUBSCRIBE, ALL_TYPES, ALL_TRAPS, ALL_PRODUCERS = 1, 1, 0xFFFF, 0xFFFF, 0xFFFFFF
QPN, RESPONSE_TIME = 1, 18


def service(own_gid):
    return struct.pack(">Q16sHHI16s64s", 0x1000000000000042, own_gid, 0xFFFF, 0, FOR_EVER, bytes(16),
                       b"a service") + bytes(range(64))


def subscription(_own_gid):
    return struct.pack(">16sHHHBBHHIBBH", bytes(16), *ALL_LIDS, 0, GENERIC, SUBSCRIBE, ALL_TYPES, ALL_TRAPS,
                       QPN << 8 | RESPONSE_TIME, 0, ALL_PRODUCERS >> 16, ALL_PRODUCERS & 0xFFFF)


def main():
    set_record(SERVICE_RECORD, 0x7F, service)
    set_record(INFORM_INFO, 0, subscription)


if __name__ == "__main__":
    main()
