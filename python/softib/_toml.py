# SPDX-License-Identifier: BSD-2-Clause
"""Writes scenarios as TOML. Strings are quoted by json.dumps, as TOML has the same quotes."""
import json
import numbers

import numpy


def value(of):
    """Returns a value as TOML; numbers of NumPy are numbers."""
    if isinstance(of, (bool, numpy.bool_)):
        return "true" if of else "false"
    if isinstance(of, numbers.Integral):
        return repr(int(of))
    if isinstance(of, numbers.Real):
        return repr(float(of))
    if isinstance(of, (list, tuple, numpy.ndarray)):
        return "[" + ", ".join(map(value, of)) + "]"
    return json.dumps(str(of), ensure_ascii=False)


def lines(table):
    return [f"{key} = {value(each)}" for key, each in table.items() if each is not None]


def document(top, tables, arrays):
    """Returns TOML. `tables`: name -> keys; `arrays`: name -> list of keys."""
    text = lines(top)
    for name, table in tables.items():
        if table:
            text += [f"[{name}]", *lines(table)]
    for name, rows in arrays.items():
        for row in rows:
            text += [f"[[{name}]]", *lines(row)]
    return "\n".join(text) + "\n"
