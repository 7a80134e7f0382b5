# SPDX-License-Identifier: BSD-2-Clause
"""Simulations of a fabric in virtual time, by packets or by flows."""
from __future__ import annotations

import ctypes
import html
import os
from collections.abc import KeysView, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy

from . import _native, _text, _toml
from .answers import Answer, frame
from .fabric import Fabric

if TYPE_CHECKING:
    import pandas

FOREVER = 2**64 - 1
PS_PER_US = 1_000_000
STEP_EVENTS = 200_000

Keys: TypeAlias = dict[str, Any]
Rows: TypeAlias = Union[Keys, Sequence[Keys]]
Folder: TypeAlias = Union[str, "os.PathLike[str]"]


def _list(of: Rows | None, name: str) -> list[Keys]:
    rows = [of] if isinstance(of, dict) else list(of or [])
    if not all(isinstance(row, dict) for row in rows):
        raise _native.Error(f"{name} must be a dictionary, or a list of them, not {of!r}")
    if name == "traffic" and not rows:
        raise _native.Error("say which traffic: {'pattern': 'permutation'}, for example")
    return rows


def _table(of: Keys | None, name: str) -> Keys:
    if of is not None and not isinstance(of, dict):
        raise _native.Error(f"{name} must be a dictionary, not {of!r}")
    return of or {}


def _scenario(fabric: Fabric, traffic: Rows, top: Keys, network: Keys, hosts: Keys | None,
              fail: Rows | None, **sections: Keys) -> str:
    """Returns a scenario as TOML."""
    if not isinstance(fabric, Fabric):
        raise _native.Error(f"the fabric must be a softib.Fabric, not {fabric!r}")
    return _toml.document(
        top, {"fabric": fabric.keys, "network": _native.given(network, "sim"),
              "hosts": _table(hosts, "hosts"), **sections},
        {"traffic": _list(traffic, "traffic"), "fail": _list(fail, "fail")})


def _picoseconds(now: int, us: float) -> int:
    """Returns the virtual time that is so many microseconds from now."""
    if not 0 <= us < float("inf"):
        raise _native.Error(f"us must be a number of microseconds of 0 or more, not {us!r}")
    return min(now + round(us * PS_PER_US), FOREVER)


class Table:
    """Columns by name, as NumPy arrays. If the rows have names, they are in `names`. It prints its
    first rows, and to_frame() makes a DataFrame of it."""

    def __init__(self, columns: dict[str, numpy.ndarray[Any, Any]],
                 names: list[str] | None = None) -> None:
        self.columns = columns
        self.names = names

    def __getitem__(self, name: str) -> numpy.ndarray[Any, Any]:
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def keys(self) -> KeysView[str]:
        return self.columns.keys()

    def to_frame(self) -> pandas.DataFrame:
        """Returns a DataFrame of pandas; names of rows are its column `name`."""
        return frame(({"name": self.names} if self.names is not None else {}) | self.columns)

    def __repr__(self) -> str:
        rows = [{**({} if self.names is None else {"name": self.names[i]}),
                 **{name: column[i].item() for name, column in self.columns.items()}}
                for i in range(min(len(self), _text.ROWS_MOST))]
        more = len(self) - len(rows)
        return _text.table(rows) + (f"\n… {more} more rows" if more > 0 else "")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


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

    def __init__(self, fabric: Fabric, traffic: Rows, *, model: str = "packet", seed: int = 1,
                 until: str | None = None, hosts: Keys | None = None, fail: Rows | None = None,
                 folder: Folder = ".", **network: Any) -> None:
        self.scenario = _scenario(fabric, traffic, {"model": model, "seed": seed, "until": until},
                                  network, hosts, fail)
        self._open(self.scenario, folder)

    @classmethod
    def load(cls, file: Folder) -> Simulation:
        """Returns the simulation of a scenario file, as `softib sim FILE` takes it."""
        opened = cls.__new__(cls)
        opened._handle = None
        try:
            with open(file, encoding="utf-8") as text:
                opened.scenario = text.read()
        except (OSError, UnicodeDecodeError) as error:
            raise _native.Error(f"cannot read {file}: {error}") from error
        opened._open(opened.scenario, os.path.dirname(file) or ".")
        return opened

    def _open(self, scenario: str, folder: Folder) -> None:
        self._native = _native.library()
        self._handle = None
        error = ctypes.create_string_buffer(4096)
        if "\0" in scenario:
            raise _native.Error("a scenario has no zero bytes: is it the right file?")
        self._handle = self._native.softib_open(scenario.encode(), os.fspath(folder).encode(),
                                                error, len(error))
        if not self._handle:
            raise _native.Error(error.value.decode(errors="replace"))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._native.softib_close(self._handle)
            self._handle = None

    def step(self, us: float | None = None, events: int = 0) -> bool:
        """Runs on for `us` of virtual time, or for `events` events. Returns True if nothing is left
        to happen."""
        until = FOREVER if us is None else _picoseconds(self.number("now_ps"), us)
        if not 0 <= events < 2**32:
            raise _native.Error(f"events must be a whole number of 0 or more, not {events!r}")
        done = self._native.softib_run(self._handle, until, events) == 1
        ended, planned = self.number("messages_ended"), self.number("messages_planned")
        return done and (us is None or ended == planned)

    def run(self, progress: _text.Progress = None) -> Simulation:
        """Runs to the end. Ctrl-C stops it; the results so far are kept.

        progress: True for a line on a terminal, or a function of the part that is done.
        """
        show = _text.progress_of(progress)
        while not self._native.softib_run(self._handle, FOREVER, STEP_EVENTS):
            if show:
                show(self.number("messages_ended") / max(self.number("messages_planned"), 1))
        if show:
            show(1.0)
        return self

    def number(self, name: str) -> int:
        """Returns a number by its name, as softib.h lists them: "events", "packets_lost"."""
        found = ctypes.c_uint64()
        if self._native.softib_number(self._handle, name.encode(), ctypes.byref(found)) != 0:
            raise KeyError(f"no number {name!r}")
        return found.value

    def text(self, name: str) -> str:
        """Returns a text by its name, as softib.h lists them."""
        found = self._native.softib_text(self._handle, name.encode())
        if found is None:
            raise KeyError(f"no text {name!r}")
        return str(found.decode(errors="replace"))

    def _column(self, table: str, name: str) -> numpy.ndarray[Any, Any]:
        rows = self._native.softib_rows(self._handle, table.encode())
        values = numpy.empty(rows, dtype=numpy.uint64)
        self._native.softib_column(self._handle, table.encode(), name.encode(),
                                   values.ctypes.data_as(ctypes.c_void_p), rows)
        return values

    @property
    def messages(self) -> Table:
        """All messages in the order of their begin. A time that has not come is NaN in *_us."""
        columns = {name: self._column("messages", name) for name in self.MESSAGES}
        for name in ("started", "delivered", "ended"):
            times = columns[f"{name}_ps"]
            columns[f"{name}_us"] = numpy.where(times == FOREVER, numpy.nan, times / PS_PER_US)
        columns["completion_us"] = columns["delivered_us"] - columns["started_us"]
        return Table(columns)

    @property
    def links(self) -> Table:
        """Each direction of each cable. `use` is the part of the run in which it was busy."""
        columns = {name: self._column("links", name) for name in self.LINKS}
        now = max(self.number("now_ps"), 1)
        columns["use"] = columns["busy_ps"] / now
        columns["wait"] = columns["wait_ps"] / now
        return Table(columns, self.text("links").splitlines())

    @property
    def ends(self) -> list[str]:
        """The names of end ports, indexed by messages["from"] and messages["to"]."""
        return self.text("ends").splitlines()

    @property
    def engine(self) -> str:
        """The routing engine."""
        return self.text("engine")

    @property
    def notes(self) -> list[str]:
        """Sentences about the run that may surprise."""
        return self.text("notes").splitlines()

    @property
    def basis(self) -> list[str]:
        """What the figures are worth: the model, what it assumes, and what validates it."""
        return self.text("basis").splitlines()

    @property
    def congestion(self) -> list[str]:
        """A sentence for each congested link: which flows fill it, and which wait behind it."""
        return self.text("congestion").splitlines()

    @property
    def duration_us(self) -> float:
        """Virtual time until the last message was delivered."""
        delivered = self.messages["delivered_us"]
        return float(numpy.nanmax(delivered)) if numpy.isfinite(delivered).any() else 0.0

    @property
    def gbps(self) -> float:
        """The delivered data, divided by the time from the first start to the last delivery."""
        messages = self.messages
        done = numpy.isfinite(messages["delivered_us"])
        took = self.duration_us - float(messages["started_us"].min()) if done.any() else 0
        return float(messages["bytes"][done].sum()) * 8 / took / 1000 if took > 0 else 0.0

    @property
    def log_hash(self) -> str:
        """A hash of all arrivals, as `softib sim --json` prints it, equal for equal simulations."""
        return f"{self.number('log_hash'):016x}"

    def __repr__(self) -> str:
        ended, planned = self.number("messages_ended"), self.number("messages_planned")
        lines = [f"Simulation: {ended} of {planned} messages ended at "
                 f"{self.number('now_ps') / PS_PER_US:.6g} us; {self.gbps:.4g} Gb/s; "
                 f"engine {self.engine}"]
        return "\n".join(lines + self.congestion[:5])


def ask(fabric: Fabric, traffic: Rows, *, model: str | None = None, seed: int | None = None,
        until: str | None = None, compare: Sequence[str] | None = None,
        whatif: bool | int | None = None, vary: dict[str, Sequence[Any]] | None = None,
        seeds: int | None = None, hosts: Keys | None = None, fail: Rows | None = None,
        folder: Folder = ".", **network: Any) -> Answer:
    """Carries out a run of any kind and returns the answer of `softib sim --json`.

    compare: a list of networks, as ["ib+adaptive", "roce"].
    whatif: True or the number of draws: the fabric as it is beside the one without what fails.
    vary, seeds: lists of values by key, and a number of seeds: one simulation for each combination.
    The rest is that of Simulation; only what is given goes into the scenario.
    """
    if vary is not None and not _table(vary, "vary"):
        raise _native.Error("vary must have a list of values by key, as {'hosts': [2, 4]}")
    sections = {"vary": vary or {}}
    top = {"model": model, "seed": seed, "until": until, "compare": compare, "seeds": seeds}
    text = _scenario(fabric, traffic, top, network, hosts, fail, **sections)
    if whatif is not None and whatif is not False:
        text += "[whatif]\n" + ("" if whatif is True else f"seeds = {whatif}\n")
    return Answer(_native.answer(text, folder))


def simulate(fabric: Fabric, traffic: Rows, *, progress: _text.Progress = True,
             **keys: Any) -> Simulation:
    """Runs a simulation to its end."""
    return Simulation(fabric, traffic, **keys).run(progress)
