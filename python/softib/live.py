# SPDX-License-Identifier: BSD-2-Clause
"""Live fabrics: virtual hosts on this machine, on which unmodified programs run."""
from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from . import _native
from .fabric import Fabric


class Live:
    """A fabric that is up."""

    def __init__(self, name: str) -> None:
        self.name = name

    def exec(self, host: str, *words: Any, **options: Any) -> str:
        """Runs a program on a virtual host and returns what it printed."""
        return _native.command("exec", "--fabric", self.name, host, "--", *words, **options)

    def status(self) -> dict[str, Any]:
        """Returns what `softib status --json` prints."""
        status: dict[str, Any] = json.loads(
            _native.command("status", "--fabric", self.name, "--json"))
        return status

    def down(self) -> None:
        """Ends the fabric."""
        _native.command("down", self.name)


@contextlib.contextmanager
def live(fabric: Fabric, name: str | None = None, **options: Any) -> Iterator[Live]:
    """Brings a fabric up, and down again at the end of the `with` block."""
    name = name or f"py{os.getpid()}"
    _native.command("up", name, *fabric.flags(), *_native.flags(options))
    up = Live(name)
    try:
        yield up
    finally:
        up.down()
