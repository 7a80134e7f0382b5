# SPDX-License-Identifier: BSD-2-Clause
"""Answers: objects that print themselves, and rows of a table."""
from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, KeysView, Sequence
from typing import TYPE_CHECKING, Any

from . import _text
from ._native import Error
from .objects import labels_of

if TYPE_CHECKING:
    import pandas


# Tables that explain an answer, and are not what was asked for.
_ASIDE = ("choices",)


class Answer:
    """An answer. Keys of its JSON are attributes, or answer["key"]; answer.data is all of it. It
    prints itself, and to_frame() makes a DataFrame of it."""

    def __init__(self, data: dict[str, Any], inside: str = "") -> None:
        self.data = data
        self._inside = inside  # The keys above, as "parts_s.": they tell units.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "data":
            raise AttributeError(name)
        if name not in self.data:
            raise AttributeError(f"no {name!r}; there are {', '.join(self.data)}")
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self.data:
            raise KeyError(f"no {name!r}; there are {', '.join(self.data)}")
        return wrap(self.data[name], f"{self._inside}{name}.")

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, name: object) -> bool:
        return name in self.data

    def keys(self) -> KeysView[str]:
        return self.data.keys()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.data]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self.data == other.data

    def __repr__(self) -> str:
        return _text.of(self.data, self._inside)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy of all of it, as dictionaries and lists."""
        copy: dict[str, Any] = json.loads(json.dumps(self.data))
        return copy

    def to_json(self, indent: int | None = None) -> str:
        """Returns the JSON that the command prints with --json."""
        return json.dumps(self.data, indent=indent, ensure_ascii=False)

    def to_rows(self, table: str | None = None) -> list[dict[str, Any]]:
        """Returns a dictionary for each row. A table is a list of the answer, as "best" or
        "cost.lines": the first one unless said. An answer that has none is one row, in which a key
        of a key has a dot, as "parts_s.matmul"."""
        if table is None:
            tables = [name for name, value in self.data.items()
                      if _is_table(value) and name not in _ASIDE]
            return _rows_of(self.data[tables[0]] if tables else [self.data])
        found: Any = self.data
        for key in table.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if not _is_table(found):
            raise Error(f"{table!r} is no table of this answer; there are "
                        f"{', '.join(_tables(self.data)) or 'none'}")
        return _rows_of(found)

    def to_frame(self, table: str | None = None) -> pandas.DataFrame:
        """Returns the rows of to_rows() as a DataFrame of pandas."""
        return frame(self.to_rows(table))


class Answers(Sequence[Answer]):
    """Answers to several questions, with what varied among them. It prints itself as a table, and
    to_frame() makes one DataFrame of all."""

    def __init__(self, answers: Iterable[Answer], varied: Iterable[dict[str, Any]] = ()) -> None:
        self._answers = list(answers)
        self.varied = list(varied) or [{} for _ in self._answers]

    def __len__(self) -> int:
        return len(self._answers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Answers(self._answers[index], self.varied[index])
        return self._answers[index]

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    def to_rows(self, table: str | None = None) -> list[dict[str, Any]]:
        """Returns the rows of all answers, each with what varied. A question that had no answer is
        a row with an `error`."""
        rows = []
        labels = {name: labels_of([said.get(name) for said in self.varied])
                  for said in self.varied for name in said}
        for i, answer in enumerate(self._answers):
            first = {name: labels[name][i] for name in self.varied[i]}
            own = [answer.data] if "error" in answer else answer.to_rows(table)
            rows += [{**first, **{name: value for name, value in row.items() if name not in first}}
                     for row in own]
        return rows

    def to_frame(self, table: str | None = None) -> pandas.DataFrame:
        """Returns the rows of to_rows() as a DataFrame of pandas."""
        return frame(self.to_rows(table))

    def to_dict(self) -> list[dict[str, Any]]:
        """Returns what varied and the answer, for each."""
        return [{"asked": {name: labels_of([value])[0] for name, value in said.items()},
                 **answer.to_dict()}
                for answer, said in zip(self._answers, self.varied)]

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return _text.table(_outer(self.to_rows()))

    def _repr_html_(self) -> str:
        header, *lines = _text.cells_of(_outer(self.to_rows())) or [["no rows"]]
        return ("<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in header) +
                "</tr>" + "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line)
                                  + "</tr>" for line in lines) + "</table>")


def wrap(value: Any, inside: str = "") -> Any:
    """Returns a value of an answer: dictionaries are answers, and lists of them are lists."""
    if isinstance(value, dict):
        return Answer(value, inside)
    if isinstance(value, list):
        return Answers(map(Answer, value)) if _is_table(value) else [wrap(each) for each in value]
    return value


def frame(rows: Any) -> pandas.DataFrame:
    """Returns rows, or columns by name, as a DataFrame of pandas."""
    try:
        import pandas
    except ImportError:
        raise Error("a DataFrame needs the package pandas: install it by 'pip install pandas' or "
                    "Debian's python3-pandas, or take to_rows()") from None
    return pandas.DataFrame(rows)


def _outer(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows without what is inside of keys, where they have other cells."""
    return [{name: value for name, value in row.items() if "." not in name} or row for row in rows]


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _tables(data: dict[str, Any], inside: str = "") -> list[str]:
    """Returns the names of all tables of an answer."""
    found = []
    for name, value in data.items():
        if _is_table(value):
            found.append(inside + name)
        elif isinstance(value, dict):
            found += _tables(value, f"{inside}{name}.")
    return found


def _rows_of(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [dict(_text.flat(row)) for row in table]
