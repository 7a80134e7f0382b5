#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stream sockets over RDMA, called from Python. `serve PORT` takes connections one after the other,
and does what the first byte of each says: sends back what follows, or ends it at once. `ask ADDRESS
PORT` makes them and checks what a thread that sends, one that receives, and a program that never
waits are told."""

import ctypes
import errno
import socket
import sys
import threading

from rsocket_datagrams import LIBRARY, address_of, checked

LIBRARY.rsend.restype = LIBRARY.rrecv.restype = ctypes.c_ssize_t
ECHO, END, STOP = b"e", b"c", b"s"
SENDS_MAX = 1_000_000


def new_socket():
    return checked(LIBRARY.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0))


def send(number, data):
    done = 0
    while done < len(data):
        done += checked(LIBRARY.rsend(number, data[done:], ctypes.c_size_t(len(data) - done), 0))


def receive(number, most, flags=0):
    data = ctypes.create_string_buffer(most)
    length = checked(LIBRARY.rrecv(number, data, ctypes.c_size_t(most), flags))
    return data.raw[:length]


def serve(port):
    listener = new_socket()
    checked(LIBRARY.rbind(listener, address_of("0.0.0.0", port), 16))
    checked(LIBRARY.rlisten(listener, 8))
    wish = None
    while wish != STOP:
        number = checked(LIBRARY.raccept(listener, None, None))
        wish = receive(number, 1)
        while wish == ECHO and (data := receive(number, 5000)):
            send(number, data)
        checked(LIBRARY.rclose(number))
    checked(LIBRARY.rclose(listener))


def connection(host, port, wish):
    number = new_socket()
    checked(LIBRARY.rconnect(number, address_of(host, port), 16))
    send(number, wish)
    return number


def both_ways_at_once(host, port):
    """One thread sends, in pieces of all sizes, while another waits for what comes back."""
    number = connection(host, port, ECHO)
    sent = bytes(i * 31 % 253 for i in range(1_000_000))

    def sender():
        at = size = 0
        while at < len(sent):
            size = (size * 5 + 17) % 9001
            send(number, sent[at:at + size])
            at += size
        checked(LIBRARY.rshutdown(number, socket.SHUT_WR))

    thread = threading.Thread(target=sender)
    thread.start()
    came = bytearray()
    while data := receive(number, 4096):
        came += data
    thread.join()
    assert bytes(came) == sent, f"{len(came)} bytes came back, or others than were sent"
    checked(LIBRARY.rclose(number))


def there_and_back(host, port):
    """Many answers that are waited for."""
    number = connection(host, port, ECHO)
    for i in range(3000):
        message = bytes([i % 251]) * (1 + i % 100)
        send(number, message)
        came = b""
        while len(came) < len(message):
            came += receive(number, len(message) - len(came))
        assert came == message, f"answer {i} is another"
    checked(LIBRARY.rclose(number))


def who_waits_hears_of_the_end(host, port):
    number = connection(host, port, END)
    assert receive(number, 1) == b""
    checked(LIBRARY.rclose(number))


def who_never_waits_hears_of_the_end(host, port):
    number = connection(host, port, END)
    while True:
        try:
            assert receive(number, 1, socket.MSG_DONTWAIT) == b""
            break
        except BlockingIOError:
            pass
    checked(LIBRARY.rclose(number))


def who_only_sends_hears_of_the_end(host, port):
    number = connection(host, port, END)
    for _ in range(SENDS_MAX):
        try:
            send(number, b"x" * 64)
        except OSError as error:
            assert error.errno in (errno.EPIPE, errno.ECONNRESET), error
            break
    else:
        raise AssertionError("a socket that nobody reads takes everything")
    checked(LIBRARY.rclose(number))


def ask(host, port):
    for case in (both_ways_at_once, there_and_back, who_waits_hears_of_the_end,
                 who_never_waits_hears_of_the_end, who_only_sends_hears_of_the_end):
        print(case.__name__, flush=True)
        case(host, port)
    checked(LIBRARY.rclose(connection(host, port, STOP)))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        ask(sys.argv[2], int(sys.argv[3]))
