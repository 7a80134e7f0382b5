# SPDX-License-Identifier: BSD-2-Clause
"""Live fabrics: virtual hosts on this machine, on which unmodified programs run."""
import contextlib
import json
import os

from . import _native


class Live:
    """A fabric that is up."""

    def __init__(self, name):
        self.name = name

    def exec(self, host, *words, **options):
        """Runs a program on a virtual host and returns what it printed."""
        return _native.command("exec", "--fabric", self.name, host, "--", *words, **options)

    def status(self):
        return json.loads(_native.command("status", "--fabric", self.name, "--json"))

    def down(self):
        _native.command("down", self.name)


@contextlib.contextmanager
def live(fabric, name=None, **options):
    """Brings a fabric up, and down again at the end of the `with` block."""
    name = name or f"py{os.getpid()}"
    _native.command("up", name, *fabric.flags(), *_native.flags(options))
    up = Live(name)
    try:
        yield up
    finally:
        up.down()
