# SPDX-License-Identifier: BSD-2-Clause
"""The planner: clusters, collectives, training steps.

Options are the flags of `softib plan` with '_' for '-'."""
import numpy

from . import _native, _toml
from ._native import answer, ask


# Options that name a file which the command writes; the command alone answers those questions. All
# others are answered in this process.
WRITES = ("html", "trace", "export")


class Answer:
    """An answer of the planner. Keys of its JSON are attributes, answer["key"] or answer.data."""

    def __init__(self, data):
        self.data = data

    def __getattr__(self, name):
        if name.startswith("_") or name == "data":
            raise AttributeError(name)
        if name not in self.data:
            raise AttributeError(f"no {name!r}; there are {', '.join(self.data)}")
        return _wrap(self.data[name])

    def __getitem__(self, name):
        return _wrap(self.data[name])

    def keys(self):
        return self.data.keys()

    def __dir__(self):
        return [*super().__dir__(), *self.data]

    def __repr__(self):
        return f"Answer({', '.join(self.data)})"


def _wrap(value):
    if isinstance(value, dict):
        return Answer(value)
    if isinstance(value, list):
        return [_wrap(each) for each in value]
    return value


def column(rows, name):
    """Returns one key of all rows, as a NumPy array: column(collective(...).rows, "busbw_gbps")."""
    return numpy.array([row[name] for row in rows])


def _check_key(what, name):
    """Raises Error if a question has no key of that name."""
    try:
        answer(_toml.document({"ask": what, name: "?"}, {}, {}))
    except _native.Error as error:  # That of its value is no matter.
        if "unknown key" in str(error):
            raise


def _answer(what, options):
    for name in [name for name, value in options.items() if value is None]:
        _check_key(what, name)
        del options[name]
    if any(options.get(name) for name in WRITES):
        operands = [str(options.pop("what"))] if what == "compare" else []
        return _wrap(ask("plan", what, operands=operands, **options))
    said = {"ask": what, **options}
    return _wrap(answer(_toml.document(said, {}, {})))


def presets():
    """Returns the built-in clusters and GPUs."""
    return _answer("presets", {})


def models():
    return _answer("models", {})


def show(cluster, **options):
    """Returns what a cluster is made of: switches, cables, LIDs, power, cost."""
    return _answer("show", {"cluster": str(cluster), **options})


def collective(cluster, op="all-reduce", **options):
    """Returns the times of a collective operation over sizes and algorithms."""
    return _answer("collective", {"cluster": str(cluster), "op": op, **options})


def compare(what, cluster, **options):
    return _answer("compare", {"what": what, "cluster": str(cluster), **options})


def serve(model, cluster, **options):
    """Returns the times to tokens of a service by pools of prefill and decode nodes."""
    return _answer("serve", {"model": str(model), "cluster": str(cluster), **options})


def train(model, cluster, **options):
    """Returns a training step: time, MFU, memory, and which part waits for which."""
    return _answer("train", {"model": str(model), "cluster": str(cluster), **options})


def search(model, cluster, **options):
    """Returns the quickest mappings of a model onto a cluster."""
    return _answer("search", {"model": str(model), "cluster": str(cluster), **options})
