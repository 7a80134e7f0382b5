# SPDX-License-Identifier: BSD-2-Clause
"""Answers as text: numbers with their units, lists as tables."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ROWS_MOST = 20
COLUMNS_MOST = 14
SHARES = ("mfu", "hfu", "use", "wait")
TIMES = ((1, "s", 1), (1e-3, "ms", 1e3), (1e-6, "us", 1e6), (0, "ns", 1e9))


def cell(name: str, value: Any) -> str:
    """Returns a value with the unit that its name says."""
    last = name.rpartition(".")[2]
    if value is None or isinstance(value, bool):
        return "-" if value is None else "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return " to ".join(cell(name, each) for each in value) if len(value) == 2 else str(value)
    if last.endswith("_share") or last in SHARES:
        return f"{100 * value:.1f} %"
    if last.endswith("_bytes") or name.startswith("memory_bytes."):
        return f"{value / 2**30:.1f} GiB" if value >= 2**27 else f"{value:,} B"
    if last.endswith("_s") and not last.endswith("per_s") or name.startswith("parts_s."):
        least, unit, factor = next(each for each in TIMES if abs(value) >= each[0])
        return f"{value * factor:.3g} {unit}" if value else "0"
    if isinstance(value, int) or value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10000 else str(int(value))
    return f"{value:,.0f}" if abs(value) >= 10000 else f"{value:.4g}"


def grid(header: list[str], rows: list[list[str]]) -> str:
    """Returns columns, aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
                     for row in [header, *rows])


def table(rows: list[dict[str, Any]]) -> str:
    """Returns rows as a table, the first ones if there are many."""
    if not rows:
        return "(no rows)"
    shown = rows[:ROWS_MOST]
    names = list(dict.fromkeys(name for row in shown for name in row))
    differing = [name for name in names if len({str(row.get(name)) for row in shown}) > 1]
    if len(names) > COLUMNS_MOST:  # Those that tell rows apart come first.
        names = sorted(names, key=lambda name: (name not in differing, "." in name))
        names = sorted(names[:COLUMNS_MOST], key=list(dict.fromkeys(
            name for row in shown for name in row)).index)
    text = grid(names, [[cell(name, row.get(name)) for name in names] for row in shown])
    return text + (f"\n… {len(rows) - len(shown)} more rows" if len(rows) > len(shown) else "")


def flat(row: dict[str, Any], inside: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the cells of a row; a key of a key has a dot. Sentences and tables are no cells."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from flat(value, "" if name in ("values", "keys") else f"{inside}{name}.")
        elif not isinstance(value, list) or (value and not isinstance(value[0], (str, dict))):
            yield inside + name, value


def of(data: dict[str, Any]) -> str:
    """Returns an answer as text: numbers, tables, sentences."""
    parts, line, tables, sentences = [], [], [], []
    for name, value in data.items():
        if isinstance(value, dict):
            inside = [f"{key} {cell(f'{name}.{key}', each)}" for key, each in value.items()
                      if not isinstance(each, (dict, list)) and each not in ("", 0, False)]
            parts.append(f"{name}: {', '.join(inside) or '-'}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            tables.append(f"{name}\n{table([dict(flat(row)) for row in value])}")
        elif isinstance(value, list) and value and isinstance(value[0], str):
            sentences += [f"- {each}" for each in value]
        elif value not in ([], "", None):
            line.append(f"{name} {cell(name, value)}")
    head = [", ".join(line)] if line else []
    return "\n".join([*head, *parts, *tables, *sentences])
