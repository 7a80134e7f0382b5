#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Options of adapters' vendors, by librdmacm's calls. `serve PORT` takes a first request with some
of its options and refuses those of a second; `ask ADDRESS PORT` makes both, and checks what it is
told. Neither has a queue pair: librdmacm would bring its options."""

import ctypes
import errno
import socket
import struct
import sys

LIBRARY = ctypes.CDLL("librdmacm.so.1", use_errno=True)
LIBRARY.rdma_create_event_channel.restype = ctypes.c_void_p
PS_TCP = 0x0106
ADDR_RESOLVED, ROUTE_RESOLVED, REQUEST, RESPONSE, REJECTED, ESTABLISHED, DISCONNECTED = (
    0, 2, 4, 5, 8, 9, 10)
VENDOR, ASKED, GRANTED = 0x0215B3, 0x80000003, 0x00000001
REASON_VENDOR_OPTION = 35
TIMEOUT_MS = 5000


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), errno.errorcode[ctypes.get_errno()])


def new_id(channel):
    made = ctypes.c_void_p()
    checked(LIBRARY.rdma_create_id(channel, ctypes.byref(made), None, PS_TCP))
    return made


def address_of(host, port):
    return (struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) +
            socket.inet_aton(host) + bytes(8))


def expect(channel, wanted):
    """Returns id and status of the next event."""
    event = ctypes.c_void_p()
    checked(LIBRARY.rdma_get_cm_event(channel, ctypes.byref(event)))
    of, _, kind, status = struct.unpack("=QQIi", ctypes.string_at(event.value, 24))
    checked(LIBRARY.rdma_ack_cm_event(event))
    assert kind == wanted, f"event {kind}, status {status}, instead of {wanted}"
    return ctypes.c_void_p(of), status


def set_ece(of, vendor, options):
    checked(LIBRARY.rdma_set_local_ece(of, struct.pack("=III", vendor, options, 0)))


def expect_ece(of, vendor, options):
    found = ctypes.create_string_buffer(12)
    checked(LIBRARY.rdma_get_remote_ece(of, found))
    seen = struct.unpack("=III", found.raw)
    assert seen == (vendor, options, 0), f"{seen} instead of {(vendor, options, 0)}"


def parameters(qpn):
    """Returns a rdma_conn_param with nothing but a queue pair's number."""
    return struct.pack("=QBBBBBBBxI4x", 0, 0, 0, 0, 0, 7, 7, 0, qpn)


def serve(channel, port):
    listener = new_id(channel)
    checked(LIBRARY.rdma_bind_addr(listener, address_of("0.0.0.0", port)))
    checked(LIBRARY.rdma_listen(listener, 2))
    first, _ = expect(channel, REQUEST)
    expect_ece(first, VENDOR, ASKED)
    set_ece(first, VENDOR, GRANTED)
    checked(LIBRARY.rdma_accept(first, parameters(500)))
    expect(channel, ESTABLISHED)
    second, _ = expect(channel, REQUEST)
    expect_ece(second, VENDOR, ASKED)
    checked(LIBRARY.rdma_reject_ece(second, None, 0))
    expect(channel, DISCONNECTED)


def resolved(channel, host, port):
    made = new_id(channel)
    checked(LIBRARY.rdma_resolve_addr(made, None, address_of(host, port), TIMEOUT_MS))
    expect(channel, ADDR_RESOLVED)
    checked(LIBRARY.rdma_resolve_route(made, TIMEOUT_MS))
    expect(channel, ROUTE_RESOLVED)
    return made


def ask(channel, host, port):
    taken, refused = (resolved(channel, host, port) for _ in range(2))
    set_ece(taken, VENDOR, ASKED)
    checked(LIBRARY.rdma_connect(taken, parameters(100)))
    expect(channel, RESPONSE)
    expect_ece(taken, VENDOR, GRANTED)
    checked(LIBRARY.rdma_establish(taken))
    set_ece(refused, VENDOR, ASKED)
    checked(LIBRARY.rdma_connect(refused, parameters(101)))
    _, reason = expect(channel, REJECTED)
    assert reason == REASON_VENDOR_OPTION, f"rejected for reason {reason}"
    checked(LIBRARY.rdma_disconnect(taken))


def main():
    channel = ctypes.c_void_p(LIBRARY.rdma_create_event_channel())
    if sys.argv[1] == "serve":
        serve(channel, int(sys.argv[2]))
    else:
        ask(channel, sys.argv[2], int(sys.argv[3]))


if __name__ == "__main__":
    main()
