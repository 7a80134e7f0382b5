# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of fabrics: the keys of [fabric] in a TOML file, which are flags of `softib up`."""
import json

from . import _native, _toml


class Fabric:
    """The description of a fabric: Fabric("fat-tree", hosts=128, radix=16), or Fabric(file=DUMP)
    for the dump of one that exists."""

    def __init__(self, topology=None, *, file=None, **keys):
        if file is not None and topology is not None:
            raise _native.Error(f"topology {topology!r} and file {str(file)!r} both say what the "
                                "fabric is: leave out one of the two")
        self.keys = {"from": str(file)} if file is not None else {
            "topology": topology or "single-switch"}
        self.keys.update(keys)

    def __repr__(self):
        return "Fabric(" + ", ".join(f"{key}={value!r}" for key, value in self.keys.items()) + ")"

    def flags(self):
        return _native.flags(self.keys)

    def _topo(self, *flags):
        # A file may have keys of running fabrics, too; flags of them would draw nothing.
        return _native.command("topo", "--config", "/dev/stdin", *flags,
                               input=_toml.document(self.keys, {}, {}))

    def report(self):
        """Returns switches, cables by class and reach, bisection, diameter and LIDs."""
        return json.loads(self._topo("--report", "--json"))

    def svg(self):
        """Returns a drawing of the fabric (SVG)."""
        return self._topo("--svg", "-")

    def _repr_svg_(self):
        return self.svg()
