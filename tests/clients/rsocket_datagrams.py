#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Datagram sockets over RDMA, called from Python. `serve PORT COUNT` sends COUNT datagrams back to
whom they came from, reversed; `ask ADDRESS PORT COUNT` sends as many, of all sizes, and checks what
comes back."""

import ctypes
import errno
import socket
import struct
import sys

LIBRARY = ctypes.CDLL("librdmacm.so.1", use_errno=True)
LIBRARY.rsendto.restype = LIBRARY.rrecvfrom.restype = ctypes.c_ssize_t
LONGEST = 4096 - 20  # A packet, less the address that stands before each datagram.


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), errno.errorcode[ctypes.get_errno()])
    return result


def address_of(host, port):
    return (struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) +
            socket.inet_aton(host) + bytes(8))


def send(number, data, to):
    return LIBRARY.rsendto(number, data, ctypes.c_size_t(len(data)), 0, to, len(to))


def receive(number):
    data, source = ctypes.create_string_buffer(8192), ctypes.create_string_buffer(16)
    length = ctypes.c_uint32(16)
    n = checked(
        LIBRARY.rrecvfrom(number, data, ctypes.c_size_t(8192), 0, source, ctypes.byref(length)))
    return data.raw[:n], source.raw[:length.value]


def new_socket():
    return checked(LIBRARY.rsocket(socket.AF_INET, socket.SOCK_DGRAM, 0))


def serve(port, count):
    number = new_socket()
    checked(LIBRARY.rbind(number, address_of("0.0.0.0", port), 16))
    for _ in range(count):
        data, source = receive(number)
        assert checked(send(number, data[::-1], source)) == len(data)
    checked(LIBRARY.rclose(number))


def ask(host, port, count):
    number, to = new_socket(), address_of(host, port)
    for i in range(count):
        data = bytes((i + j) % 251 for j in range(LONGEST * i // (count - 1)))
        assert checked(send(number, data, to)) == len(data)
        answer, source = receive(number)
        assert answer == data[::-1], f"{len(answer)} bytes came back for {len(data)}"
        assert source == to, f"from {source} instead of {to}"
    assert send(number, bytes(LONGEST + 1), to) == -1 and ctypes.get_errno() == errno.EMSGSIZE
    nobody = address_of(host, 9)
    assert send(number, b"x", nobody) == -1 and ctypes.get_errno() == errno.ECONNREFUSED
    checked(LIBRARY.rclose(number))


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*(int(word) if word.isdigit() else word
                                                for word in sys.argv[2:]))
