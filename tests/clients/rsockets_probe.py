#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Ordinary TCP programs for test_rsockets.py. `serve PORT` sends back what comes, `ask ADDRESS
PORT` compares it over four connections at once, both by asyncio; `ask_after_children ADDRESS PORT`
does so over one, after a fork; `say TEXT PORT` tells everybody TEXT."""

import asyncio
import contextlib
import ctypes
import os
import socket
import struct
import subprocess
import sys

BYTES = 300_000


async def echo(reader, writer):
    while data := await reader.read(5000):
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve(port):
    server = await asyncio.start_server(echo, "0.0.0.0", int(port))
    await server.serve_forever()


async def ask_once(host, port, seed):
    reader, writer = await asyncio.open_connection(host, int(port))
    sent = bytes((seed + i) % 253 for i in range(BYTES))
    writer.write(sent)
    writer.write_eof()
    assert await reader.read() == sent, "what came back is not what was sent"
    writer.close()
    await writer.wait_closed()


async def ask(host, port):
    await asyncio.gather(*(ask_once(host, port, seed) for seed in range(4)))


def reuse_numbers(host, port):
    """The number of a descriptor that the C library closed by itself is reused for a file."""
    libc = ctypes.CDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    number = socket.create_connection((host, int(port))).detach()
    assert libc.fclose(ctypes.c_void_p(libc.fdopen(number, b"r+"))) == 0
    with open(__file__, "rb", buffering=0) as file:
        assert file.fileno() == number and file.read(2) == b"#!"


def ask_after_children(host, port):
    """Children that close every inherited descriptor do not end the parent's connection."""
    reuse_numbers(host, port)
    with socket.create_connection((host, int(port))) as connection:
        child = os.fork()
        if child == 0:
            connection.close()
            os._exit(0)
        os.waitpid(child, 0)
        subprocess.run(["true"], check=True)
        # Nothing is there to read; the kernel's way of not waiting for ever.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@qq", 0, 10_000))
        with contextlib.suppress(BlockingIOError):
            connection.recv(1)
            raise AssertionError("something was read that nobody sent")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@qq", 0, 0))
        connection.sendall(b"still here")
        connection.shutdown(socket.SHUT_WR)
        assert connection.makefile("rb").read() == b"still here"


def say(text, port):
    with socket.create_server(("0.0.0.0", int(port))) as server:
        while True:
            with contextlib.suppress(ConnectionError), server.accept()[0] as connection:
                connection.sendall(text.encode())


if __name__ == "__main__":
    action, arguments = sys.argv[1], sys.argv[2:]
    if action == "say":
        say(*arguments)
    elif action == "ask_after_children":
        ask_after_children(*arguments)
    else:
        asyncio.run({"serve": serve, "ask": ask}[action](*arguments))
