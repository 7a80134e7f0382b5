# SPDX-License-Identifier: BSD-2-Clause
"""Simulations of a fabric in virtual time, by packets or by flows."""
import ctypes
import os
import sys

import numpy

from . import _native, _toml
from .plan import Answer

FOREVER = 2**64 - 1
PS_PER_US = 1_000_000
STEP_EVENTS = 200_000


def _list(of):
    return [of] if isinstance(of, dict) else list(of or [])


def _scenario(fabric, traffic, top, network, hosts, fail, **sections):
    """Returns a scenario as TOML."""
    return _toml.document(
        top, {"fabric": fabric.keys, "network": network, "hosts": hosts or {}, **sections},
        {"traffic": _list(traffic), "fail": _list(fail)})


class Table:
    """Columns by name, as NumPy arrays. If the rows have names, they are in `names`."""

    def __init__(self, columns, names=None):
        self.columns = columns
        self.names = names

    def __getitem__(self, name):
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def keys(self):
        return self.columns.keys()


class Simulation:
    """A simulation of a fabric with traffic on it. run() goes to the end, step() a little further.

    traffic, fail: a dictionary or a list of them, with the keys of [[traffic]] and [[fail]].
    network, hosts: the keys of [network] and [hosts]. Other keyword arguments go into [network].
    A key that would change nothing raises Error, and so does one that makes it another kind of run
    than one simulation: ask() carries out those.
    """

    MESSAGES = ("traffic", "from", "to", "bytes", "started_ps", "delivered_ps", "ended_ps",
                "failed", "arrived_bytes")
    LINKS = ("bytes", "packets", "busy_ps", "wait_ps", "rate_mbps")

    def __init__(self, fabric, traffic, *, model="packet", seed=1, until=None, hosts=None,
                 fail=None, folder=".", **network):
        self.scenario = _scenario(fabric, traffic, {"model": model, "seed": seed, "until": until},
                                  network, hosts, fail)
        self._open(self.scenario, folder)

    @classmethod
    def load(cls, file):
        """Returns the simulation of a scenario file, as `softib sim FILE` takes it."""
        opened = cls.__new__(cls)
        with open(file, encoding="utf-8") as text:
            opened.scenario = text.read()
        opened._open(opened.scenario, os.path.dirname(file) or ".")
        return opened

    def _open(self, scenario, folder):
        self._native = _native.library()
        self._handle = None
        error = ctypes.create_string_buffer(4096)
        self._handle = self._native.softib_open(scenario.encode(), os.fspath(folder).encode(),
                                                error, len(error))
        if not self._handle:
            raise _native.Error(error.value.decode(errors="replace"))

    def __del__(self):
        if getattr(self, "_handle", None):
            self._native.softib_close(self._handle)
            self._handle = None

    def step(self, us=None, events=0):
        """Runs on for `us` of virtual time, or for `events` events. Returns True if nothing is left
        to happen."""
        until = FOREVER if us is None else self.number("now_ps") + round(us * PS_PER_US)
        done = self._native.softib_run(self._handle, until, events) == 1
        ended, planned = self.number("messages_ended"), self.number("messages_planned")
        return done and (us is None or ended == planned)

    def run(self, progress=None):
        """Runs to the end. Ctrl-C stops it; the results so far are kept.

        progress: True for a line on a terminal, or a function of the part that is done.
        """
        show = progress if callable(progress) else None
        if progress is True and sys.stderr.isatty():
            show = _show
        while not self._native.softib_run(self._handle, FOREVER, STEP_EVENTS):
            if show:
                show(self.number("messages_ended") / max(self.number("messages_planned"), 1))
        if show:
            show(1.0)
        return self

    def number(self, name):
        found = ctypes.c_uint64()
        if self._native.softib_number(self._handle, name.encode(), ctypes.byref(found)) != 0:
            raise KeyError(f"no number {name!r}")
        return found.value

    def text(self, name):
        found = self._native.softib_text(self._handle, name.encode())
        if found is None:
            raise KeyError(f"no text {name!r}")
        return found.decode(errors="replace")

    def _column(self, table, name):
        rows = self._native.softib_rows(self._handle, table.encode())
        values = numpy.empty(rows, dtype=numpy.uint64)
        self._native.softib_column(self._handle, table.encode(), name.encode(),
                                   values.ctypes.data_as(ctypes.c_void_p), rows)
        return values

    @property
    def messages(self):
        """All messages in the order of their begin. A time that has not come is NaN in *_us."""
        columns = {name: self._column("messages", name) for name in self.MESSAGES}
        for name in ("started", "delivered", "ended"):
            times = columns[f"{name}_ps"]
            columns[f"{name}_us"] = numpy.where(times == FOREVER, numpy.nan, times / PS_PER_US)
        columns["completion_us"] = columns["delivered_us"] - columns["started_us"]
        return Table(columns)

    @property
    def links(self):
        """Each direction of each cable. `use` is the part of the run in which it was busy."""
        columns = {name: self._column("links", name) for name in self.LINKS}
        now = max(self.number("now_ps"), 1)
        columns["use"] = columns["busy_ps"] / now
        columns["wait"] = columns["wait_ps"] / now
        return Table(columns, self.text("links").splitlines())

    @property
    def ends(self):
        """The names of end ports, indexed by messages["from"] and messages["to"]."""
        return self.text("ends").splitlines()

    @property
    def engine(self):
        return self.text("engine")

    @property
    def notes(self):
        return self.text("notes").splitlines()

    @property
    def basis(self):
        """What the figures are worth: the model, what it assumes, and what validates it."""
        return self.text("basis").splitlines()

    @property
    def congestion(self):
        """A sentence for each congested link: which flows fill it, and which wait behind it."""
        return self.text("congestion").splitlines()

    @property
    def duration_us(self):
        """Virtual time until the last message was delivered."""
        delivered = self.messages["delivered_us"]
        return float(numpy.nanmax(delivered)) if numpy.isfinite(delivered).any() else 0.0

    @property
    def gbps(self):
        """The delivered data, divided by the time from the first start to the last delivery."""
        messages = self.messages
        done = numpy.isfinite(messages["delivered_us"])
        took = self.duration_us - float(messages["started_us"].min()) if done.any() else 0
        return float(messages["bytes"][done].sum()) * 8 / took / 1000 if took > 0 else 0.0

    @property
    def log_hash(self):
        """A hash of all arrivals, as `softib sim --json` prints it, equal for equal simulations."""
        return f"{self.number('log_hash'):016x}"


def _show(part):
    width = 24
    filled = round(part * width)
    end = "\n" if part >= 1 else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (width - filled)}] {100 * part:.0f} %{end}")
    sys.stderr.flush()


def ask(fabric, traffic, *, model=None, seed=None, until=None, compare=None, whatif=None, vary=None,
        seeds=None, hosts=None, fail=None, folder=".", **network):
    """Carries out a run of any kind and returns the answer of `softib sim --json`.

    compare: a list of networks, as ["ib+adaptive", "roce"].
    whatif: True or the number of draws: the fabric as it is beside the one without what fails.
    vary, seeds: lists of values by key, and a number of seeds: one simulation for each combination.
    The rest is that of Simulation; only what is given goes into the scenario.
    """
    sections = {"vary": vary or {}}
    top = {"model": model, "seed": seed, "until": until, "compare": compare, "seeds": seeds}
    text = _scenario(fabric, traffic, top, network, hosts, fail, **sections)
    if whatif:
        text += "[whatif]\n" + ("" if whatif is True else f"seeds = {whatif}\n")
    return Answer(_native.answer(text, folder))


def simulate(fabric, traffic, *, progress=True, **keys):
    """Runs a simulation to its end."""
    return Simulation(fabric, traffic, **keys).run(progress)
