# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of fabrics: the keys of [fabric] in a TOML file, which are flags of `softib up`."""
import json
import os

from . import _native, _toml

PATHS = ("from", "partitions", "lid_file", "trunk_key")


class Fabric:
    """The description of a fabric: Fabric("fat-tree", hosts=128, radix=16), or Fabric(file=DUMP)
    for the dump of one that exists."""

    def __init__(self, topology=None, *, file=None, **keys):
        if file is not None and topology is not None:
            raise _native.Error(f"topology {topology!r} and file {str(file)!r} both say what the "
                                "fabric is: leave out one of the two")
        self.keys = {"from": str(file)} if file is not None else {
            "topology": topology or "single-switch"}
        self.keys.update(_native.given(keys, "up"))

    def __repr__(self):
        return "Fabric(" + ", ".join(f"{key}={value!r}" for key, value in self.keys.items()) + ")"

    def flags(self):
        return _native.flags(self.keys)

    def _topo(self, *words):
        """Returns what `softib topo` prints of the description, which may have keys of a
        simulation or of a live fabric too."""
        keys = {key: os.path.abspath(value) if key in PATHS else value
                for key, value in self.keys.items()}
        return _native.command("topo", "--config", "/dev/stdin", *words,
                               input=_toml.document(keys, {}, {}))

    def report(self):
        """Returns switches, cables by class and reach, bisection, diameter and LIDs."""
        return json.loads(self._topo("--report", "--json"))

    def svg(self):
        """Returns a drawing of the fabric (SVG)."""
        return self._topo("--svg", "-")

    def _repr_svg_(self):
        return self.svg()
