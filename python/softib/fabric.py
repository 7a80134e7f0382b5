# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of fabrics: the keys of [fabric] in a TOML file, which are flags of `softib up`."""
from __future__ import annotations

import json
import os
from typing import Any

from . import _native, _toml

PATHS = ("from", "partitions", "lid_file", "trunk_key")


class Fabric:
    """The description of a fabric: Fabric("fat-tree", hosts=128, radix=16), or Fabric(file=DUMP)
    for the dump of one that exists."""

    def __init__(self, topology: str | None = None, *,
                 file: str | os.PathLike[str] | None = None, **keys: Any) -> None:
        if file is not None and topology is not None:
            raise _native.Error(f"topology {topology!r} and file {str(file)!r} both say what the "
                                "fabric is: leave out one of the two")
        self.keys: dict[str, Any] = {"from": str(file)} if file is not None else {
            "topology": topology or "single-switch"}
        self.keys.update(_native.given(keys, "up"))

    def __repr__(self) -> str:
        return "Fabric(" + ", ".join(f"{key}={value!r}" for key, value in self.keys.items()) + ")"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fabric) and self.keys == other.keys

    def __hash__(self) -> int:
        return hash(repr(self))

    def replace(self, **changes: Any) -> Fabric:
        """Returns a copy with changes. None takes away what was said."""
        keys = {"file" if key == "from" else key: value for key, value in self.keys.items()}
        return Fabric(**{key: value for key, value in {**keys, **changes}.items()
                         if value is not None})

    def flags(self) -> list[str]:
        """Returns the flags of `softib up` that say the same."""
        return _native.flags(self.keys)

    def _topo(self, *words: str) -> str:
        """Returns what `softib topo` prints of the description, which may have keys of a
        simulation or of a live fabric too."""
        keys = {key: os.path.abspath(value) if key in PATHS else value
                for key, value in self.keys.items()}
        return _native.command("topo", "--config", "/dev/stdin", *words,
                               input=_toml.document(keys, {}, {}))

    def report(self) -> dict[str, Any]:
        """Returns switches, cables by class and reach, bisection, diameter and LIDs."""
        report: dict[str, Any] = json.loads(self._topo("--report", "--json"))
        return report

    def svg(self) -> str:
        """Returns a drawing of the fabric (SVG)."""
        return self._topo("--svg", "-")

    def _repr_svg_(self) -> str:
        return self.svg()
