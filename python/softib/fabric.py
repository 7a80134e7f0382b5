# SPDX-License-Identifier: BSD-2-Clause
"""A fabric as described: the keys of [fabric] in a TOML file, the flags of `softib up`."""
import json

from . import _native


class Fabric:
    """Fabric("fat-tree", hosts=128, radix=16), or Fabric(file=DUMP) of one that exists."""

    def __init__(self, topology="single-switch", *, file=None, **keys):
        self.keys = {"from": str(file)} if file is not None else {"topology": topology}
        self.keys.update(keys)

    def __repr__(self):
        return "Fabric(" + ", ".join(f"{key}={value!r}" for key, value in self.keys.items()) + ")"

    def flags(self):
        return _native.flags(self.keys)

    def report(self):
        """Switches, cables by class and reach, bisection, diameter and LIDs."""
        return json.loads(_native.command("topo", *self.flags(), "--report", "--json"))

    def svg(self):
        """The fabric as a picture."""
        return _native.command("topo", *self.flags(), "--svg", "-")

    def _repr_svg_(self):
        return self.svg()
