#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules for every file: licence line, 600 lines, 100 columns, #pragma once, no stray bytes."""
import re
import sys
from pathlib import Path

import tree

LINES_MAX = 600
COLUMNS_MAX = 100
SCRIPTS = (".py", ".sh", ".cmake", ".bash")


def is_source(path):
    return path.suffix in tree.CPP + SCRIPTS or path.name in ("CMakeLists.txt", "Makefile")


LOCAL_USING = re.compile(r"\s+using namespace ")


def is_test(path):
    return path.stem.endswith("_test") or path.stem.startswith("test_")


def complaints_of(name, path, text):
    """Returns what no file may do, by its name in the tree; there are no exceptions."""
    lines = text.splitlines()
    if path.suffix in tree.CPP + SCRIPTS and not any(
            "SPDX-License-Identifier: BSD-2-Clause" in line for line in lines[:3]):
        yield "no SPDX line at its top"
    if path.suffix in tree.CPP + (".py",) and len(lines) > LINES_MAX:
        yield f"{len(lines)} lines, {LINES_MAX} are allowed: does it do one thing?"
    if path.suffix in tree.CPP and "\t" in text:
        yield "has a tab"
    if path.suffix in tree.CPP and name.startswith("src/") and not is_test(path):
        for number, line in enumerate(lines, 1):
            if LOCAL_USING.match(line):
                yield (f"line {number}: a constant of another file would hide what this brings, "
                       "where files are compiled as one; name it by a namespace alias")
    if path.suffix == ".h" and "#pragma once" not in text:
        yield "header without #pragma once"
    wide = [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS_MAX]
    if is_source(path) and wide:
        yield f"over {COLUMNS_MAX} columns: line {', '.join(map(str, wide))}"
    if is_source(path) or path.suffix in (".md", ".txt"):
        if text and not text.endswith("\n"):
            yield "does not end with a newline"
        for number, line in enumerate(lines, 1):
            if line != line.rstrip() and path.suffix != ".md":
                yield f"line {number}: trailing white space"


def main():
    root = Path(sys.argv[1])
    names = tree.names(root)
    found = []
    for name in names:
        path = root / name
        text = path.read_text(errors="replace")
        found += [f"{name}: {complaint}" for complaint in complaints_of(name, path, text)]
    if not names:
        found.append("no file was checked")
    return tree.report(found, f"{len(names)} files keep the rules")


if __name__ == "__main__":
    sys.exit(main())
