# SPDX-License-Identifier: BSD-2-Clause
"""Writes scenarios as TOML. Strings are quoted by json.dumps, as TOML has the same quotes."""
from __future__ import annotations

import importlib
import json
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from ._native import Error


def value(of: Any) -> str:
    """Returns a value as TOML; numbers of NumPy are numbers."""
    if isinstance(of, (bool, numpy.bool_)):
        return "true" if of else "false"
    if isinstance(of, numbers.Integral):
        return repr(int(of))
    if isinstance(of, numbers.Real):
        return repr(float(of))
    if isinstance(of, Iterable) and not isinstance(of, (str, bytes, Mapping)):
        return "[" + ", ".join(map(value, of)) + "]"
    return json.dumps(str(of), ensure_ascii=False)


def lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {value(each)}" for key, each in table.items() if each is not None]


def document(top: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]],
             arrays: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns TOML. `tables`: name -> keys; `arrays`: name -> list of keys."""
    text = lines(top)
    for name, table in tables.items():
        if table:
            text += [f"[{name}]", *lines(table)]
    for name, rows in arrays.items():
        for row in rows:
            text += [f"[[{name}]]", *lines(row)]
    return "\n".join(text) + "\n"


def parse(text: str) -> dict[str, Any]:
    """Returns what a TOML text says."""
    for name in ("tomllib", "tomli"):
        try:
            reader = importlib.import_module(name)
        except ImportError:
            continue
        try:
            table: dict[str, Any] = reader.loads(text)
            return table
        except reader.TOMLDecodeError as error:
            raise Error(str(error)) from error
    raise Error("Python before 3.11 reads TOML by the package tomli: install it")
