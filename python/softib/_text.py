# SPDX-License-Identifier: BSD-2-Clause
"""Answers as text: numbers with their units, lists as tables."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, Union

from ._native import Error

Progress: TypeAlias = Union[bool, Callable[[float], None], None]

ROWS_MOST = 20
COLUMNS_MOST = 14
WIDTH_MOST = 60
SHARES = ("mfu", "hfu", "use", "wait")
TIMES = ((1, "s", 1), (1e-3, "ms", 1e3), (1e-6, "us", 1e6), (0, "ns", 1e9))
SIZES = ((1e12, "TB", 1e-12), (1e9, "GB", 1e-9), (1e6, "MB", 1e-6), (1e3, "kB", 1e-3), (0, "B", 1))
GIB = 2**30
PARTS = {"matmul": "matrix products", "host": "waiting for hosts", "recompute": "recomputation"}


def progress_of(progress: Progress) -> Callable[[float], None] | None:
    """Returns what shows the part that is done: the caller's function, a line on a terminal, or
    None."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise Error(f"progress must be True, False or a function, not {progress!r}")
    if callable(progress):
        return progress
    return _bar if progress and sys.stderr.isatty() else None


def _bar(part: float) -> None:
    width = 24
    filled = round(part * width)
    end = "\n" if part >= 1 else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (width - filled)}] {100 * part:.0f} %{end}")
    sys.stderr.flush()


def scaled(value: float, units: Sequence[tuple[float, str, float]]) -> str:
    """Returns a time or a size with three digits and a unit, as the command prints it."""
    _, unit, factor = next(each for each in units if abs(value) >= each[0])
    number = value * factor
    whole = number == int(number) and number < 1000
    digits = 0 if whole else 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:.{digits}f} {unit}" if value else "0"


def share(part: float) -> str:
    return f"{100 * part:.1f} %"


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
        return share(value)
    if last.endswith("_bytes") or name.startswith("memory_bytes."):
        return f"{value / GIB:.1f} GiB" if value >= GIB / 8 else f"{value:,} B"
    if last.endswith("_s") and "_per_" not in last or name.startswith("parts_s."):
        return scaled(value, TIMES)
    if last.startswith("flops_"):
        return f"{value / 1e12:.0f} T"
    if isinstance(value, int) or value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10000 else str(int(value))
    return f"{value:,.0f}" if abs(value) >= 10000 else f"{value:.4g}"


def grid(header: list[str], rows: list[list[str]]) -> str:
    """Returns columns, aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
                     for row in [header, *rows])


def short(text: str) -> str:
    return text if len(text) <= WIDTH_MOST else text[:WIDTH_MOST - 1] + "…"


def cells_of(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Returns the names of columns and the cells of the first rows."""
    shown = rows[:ROWS_MOST]
    names = list(dict.fromkeys(name for row in shown for name in row))
    differing = [name for name in names if len({str(row.get(name)) for row in shown}) > 1]
    if len(names) > COLUMNS_MOST:  # Those that tell rows apart come first.
        names = sorted(names, key=lambda name: (name not in differing, "." in name))
        names = sorted(names[:COLUMNS_MOST], key=list(dict.fromkeys(
            name for row in shown for name in row)).index)
    names.sort(key=lambda name: name == "error")
    return [names, *([short(cell(name, row.get(name))) for name in names] for row in shown)]


def table(rows: list[dict[str, Any]]) -> str:
    """Returns rows as a table, the first ones if there are many."""
    if not rows:
        return "(no rows)"
    header, *lines = cells_of(rows)
    more = len(rows) - len(lines)
    return grid(header, lines) + (f"\n… {more} more rows" if more else "")


def flat(row: dict[str, Any], inside: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the cells of a row; a key of a key has a dot. Sentences and tables are no cells."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from flat(value, "" if name in ("values", "keys") else f"{inside}{name}.")
        elif not isinstance(value, list) or (value and not isinstance(value[0], (str, dict))):
            yield inside + name, value


def notes(data: dict[str, Any]) -> str:
    return "\n" + "\n".join(f"- {each}" for each in data["notes"])


def mapping_line(of: dict[str, Any]) -> str:
    """Returns a mapping in a line: its degrees that are not 1, and what else it is."""
    degrees = [f"{name} {of[name]}" for name in ("tp", "pp", "interleave", "cp", "ep", "dp")
               if of[name] != 1 or name in ("tp", "pp", "dp")]
    return ", ".join([*degrees, f"zero {of['zero']}",
                      f"micro-batch {of['micro_batch']} x {of['micro_batches']}",
                      f"recompute {of['recompute']}", of["precision"],
                      f"batch {of['batch']:,} of {of['sequence']:,} tokens"])


def of_step(data: dict[str, Any]) -> str:
    """Returns a training step as the command prints it."""
    model, took, parts = data["model"], data["step_s"], data["parts_s"]
    low, high = (scaled(data["interval"][each], TIMES) for each in ("low_s", "high_s"))
    head = [f"{model['name']} ({model['parameters'] / 1e9:.4g} B parameters) on "
            f"{data['mapping']['gpus']:,} {data['gpu']} of {data['cluster']}",
            mapping_line(data["mapping"]), "",
            f"step {scaled(took, TIMES)}, {low} to {high}   MFU {share(data['mfu'])}   "
            f"HFU {share(data['hfu'])}   {data['flops_per_gpu_s'] / 1e12:.0f} TFLOP/s a GPU   "
            f"{data['tokens_per_s']:,.0f} tokens/s   bubble {share(data['bubble_share'])}"]
    if "training" in data:
        run = data["training"]
        tokens = run["tokens"]
        count = f"{tokens / 1e9:.4g} B" if tokens < 1e13 else f"{tokens / 1e12:.4g} T"
        head.append(f"{count} tokens: {run['days']:.1f} days, "
                    f"{run['gpu_hours']:,.0f} GPU-hours, if nothing fails")
    times = {name: value for name, value in parts.items() if not isinstance(value, dict)}
    last = {name: times.pop(name) for name in ("bubble", "optimizer")}
    rows = {**times, **{f"exposed {name}": value for name, value in parts["exposed"].items()},
            **last}
    table_of_parts = grid(["PART OF THE STEP", "TIME", "SHARE"],
                          [[PARTS.get(name, name), scaled(value, TIMES), share(value / took)]
                           for name, value in rows.items() if value > 0])
    sent = [[name, scaled(each["nvlink"], SIZES), scaled(each["fabric"], SIZES)]
            for name, each in data["bytes_per_gpu"].items() if each["nvlink"] or each["fabric"]]
    use = data["memory_bytes"]
    memory = (f"memory of a GPU: {use['total'] / GIB:.1f} of {use['capacity'] / GIB:.1f} GiB, on "
              f"stage {use['stage']}: " + ", ".join(
                  f"{name} {value / GIB:.1f}" for name, value in use.items()
                  if name not in ("stage", "total", "capacity")))
    return "\n".join([*head, "", table_of_parts, "",
                      *([grid(["SENT BY A GPU", "NVLINK", "FABRIC"], sent), ""] if sent else []),
                      memory, *notes(data).splitlines()])


def of_search(data: dict[str, Any]) -> str:
    """Returns what a search found, a row for each mapping."""
    columns = ("tp", "pp", "interleave", "uneven", "cp", "ep", "dp", "zero", "micro_batch",
               "recompute")
    rows = [[scaled(each["step_s"], TIMES), share(each["mfu"]),
             *(cell(name, each["mapping"][name]) for name in columns),
             share(each["bubble_share"]), share(each["exposed_share"]),
             f"{each['memory_bytes'] / GIB:.1f} GiB"] for each in data["best"]]
    names = [name.upper().replace("_", "-") for name in columns]
    return "\n".join([
        f"{data['model']} on {data['gpus']:,} GPUs of {data['cluster']}: {data['fitting']:,} of "
        f"{data['mappings']:,} mappings fit", "",
        grid(["STEP", "MFU", *names, "BUBBLE", "EXPOSED", "MEMORY"], rows),
        *notes(data).splitlines()])


LAYOUTS = (({"step_s", "interval", "parts_s", "memory_bytes"}, of_step),
           ({"best", "mappings", "fitting"}, of_search))


def of(data: dict[str, Any], inside: str = "") -> str:
    """Returns an answer as text: numbers, tables, sentences. `inside`: the keys above, and a
    dot."""
    for keys, layout in LAYOUTS:
        if keys <= data.keys():
            return layout(data)
    parts, line, tables, sentences = [], [], [], []
    for name, value in data.items():
        if isinstance(value, dict):
            said = [f"{key} {cell(f'{inside}{name}.{key}', each)}" for key, each in flat(value)
                    if each not in ("", 0, False)]
            parts.append(f"{name}: {', '.join(said) or '-'}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            tables.append(f"{name}\n{table([dict(flat(row)) for row in value])}")
        elif isinstance(value, list) and value and isinstance(value[0], str):
            sentences += [f"- {each}" for each in value]
        elif value not in ([], "", None):
            line.append(f"{name} {cell(inside + name, value)}")
    head = [", ".join(line)] if line else []
    return "\n".join([*head, *parts, *tables, *sentences])
